// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <fcntl.h>
#include <shmem.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "environment.hpp"
#include "measure.hpp"
#include "plot.hpp"

namespace bench {
namespace {

std::string formatted(const char* format, int digits, double value) {
  char text[40];
  std::snprintf(text, sizeof text, format, digits, value);
  return text;
}

/// Where somebody looks on while the rows go to a file: a terminal that this PE shares with who has started
/// the job.
int open_terminal() {
  const int terminal = open("/dev/tty", O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (terminal >= 0) std::signal(SIGTTOU, SIG_IGN);  // PEs are not in its foreground
  return terminal;
}

void write_all(int file, const std::string& text) {
  if (write(file, text.data(), text.size()) < 0) return;  // nobody looks
}

}  // namespace

// ---- Line

Line& Line::member(const char* name, const std::string& value) {
  json_ += (json_.empty() ? "\"" : ", \"") + std::string(name) + "\": " + value;
  return *this;
}

Line& Line::text(const char* name, std::string_view value) { return member(name, quoted(value)); }
Line& Line::number(const char* name, double value) { return member(name, formatted("%.*g", 6, value)); }
Line& Line::count(const char* name, std::size_t value) { return member(name, std::to_string(value)); }
Line& Line::truth(const char* name, bool value) { return member(name, value ? "true" : "false"); }

Line& Line::numbers(const char* name, const std::vector<double>& values) {
  std::string all;
  for (const double value : values) all += (all.empty() ? "" : ", ") + formatted("%.*g", 6, value);
  return member(name, "[" + all + "]");
}

Line& Line::cell(int width, std::string_view shown) {
  const auto room = static_cast<std::size_t>(width < 0 ? -width : width);
  const std::string padding(shown.size() < room ? room - shown.size() : 0, ' ');
  cells_ += cells_.empty() ? "" : " ";
  cells_ += width < 0 ? std::string(shown) + padding : padding + std::string(shown);
  return *this;
}

Line& Line::cell(int width, double value, int digits) {
  return cell(width, formatted("%.*g", digits, value));
}

Line& Line::figure(const char* name, double value, const char* unit, Better better,
                   const std::vector<double>& samples) {
  figure_ = value;
  unit_ = unit;
  text("figure", name).text("unit", unit).text("better", better == Better::less ? "less" : "more");
  return samples.empty() ? *this : numbers("samples", samples);
}

Line& Line::at(std::string series, double size) {
  series_ = std::move(series);
  size_ = size;
  return *this;
}

// ---- Report

Report::Report(const char* command, const ReportOptions& options, const std::string& about, std::size_t steps)
    : command_(command),
      options_(options),
      prints_(shmem_my_pe() == 0),
      nodes_(bench::nodes()),
      steps_(steps) {
  if (!prints_) return;
  if (options.json || !options.plot.empty()) terminal_ = open_terminal();
  std::fputs(
      options.json ? environment_json(command, nodes_).c_str() : environment_text(command, nodes_).c_str(),
      stdout);
  if (const char* warning = build_warning(); *warning != '\0')
    std::fprintf(options.json ? stderr : stdout, "# %s\n", warning);
  say(about);
  std::fflush(stdout);
}

Report::~Report() {
  erase_progress();
  if (terminal_ >= 0) close(terminal_);
}

void Report::say(const std::string& line) const {
  if (prints_ && !options_.json) std::printf("%s\n", line.c_str());
}

void Report::erase_progress() const {
  if (terminal_ >= 0) write_all(terminal_, "\r\033[K");
}

void Report::next(const std::string& what) {
  ++step_;
  if (terminal_ < 0) return;
  const std::string of = steps_ > 0 ? " of " + std::to_string(steps_) : "";
  write_all(terminal_, "\r\033[Kshmem_bench " + command_ + ": " + std::to_string(step_) + of + ", " + what);
}

void Report::row(Line line, bool right) {
  right = total(right ? 0 : 1) == 0;
  wrong_ += right ? 0 : 1;
  if (!prints_) return;
  if (!line.series_.empty()) {
    points_.push_back({line.series_, line.size_, line.figure_});
    unit_ = line.unit_;
  }
  if (options_.json) {
    std::printf("{%s}\n", line.truth("right", right).json_.c_str());
  } else {
    std::printf("%s%s\n", line.cells_.c_str(), right ? "" : "  WRONG");
  }
  std::fflush(stdout);
}

int Report::end() {
  erase_progress();
  bool written = true;
  if (prints_ && !options_.plot.empty()) {
    Plot plot("shmem_bench " + command_, unit_);
    for (const Point& point : points_) plot.add(point.series, point.x, point.y);
    written = plot.write(options_.plot);
    if (!written)
      std::fprintf(stderr, "shmem_bench %s: cannot write the picture to '%s'\n", command_.c_str(),
                   options_.plot.c_str());
  }
  const int code = end_run(wrong_);
  return total(written ? 0 : 1) == 0 ? code : 1;
}

}  // namespace bench
