// SPDX-License-Identifier: BSD-3-Clause
// What every subcommand says, in one look: what was measured where, tables of rows, the same rows as lines of
// JSON, a picture of them, progress, and the exit code.  PE 0 writes; what is collective says so.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "command_line.hpp"

namespace bench {

/// Options that all subcommands have.
struct ReportOptions {
  bool json = false;
  std::string plot;  ///< file of a picture; empty: none
};

inline constexpr char kReportUsage[] =
    "  --json            one line of JSON a result, behind one of where it was measured: for 'shmem_bench "
    "compare'\n"
    "  --plot FILE       a picture of the results, as SVG\n";

/// --plot, for the table of a subcommand's options.
template <class Options>
constexpr Option<Options> plot_option() {
  return {"--plot", "the name of a file", [](const std::string& value, Options& o) {
            o.plot = value;
            return !value.empty();
          }};
}

/// What is better of a figure.
enum class Better { less, more };

/// A result: members of its JSON, and cells of its table, each in the order of the calls.
class Line {
 public:
  Line& text(const char* name, std::string_view value);
  Line& number(const char* name, double value);  ///< six digits
  Line& count(const char* name, std::size_t value);
  Line& truth(const char* name, bool value);
  Line& numbers(const char* name, const std::vector<double>& values);

  /// Right-aligned in `width` columns, with a space in front; of a negative width: left-aligned.
  Line& cell(int width, std::string_view shown);
  Line& cell(int width, double value, int digits = 4);

  /// What `compare` compares, and `--plot` shows: the member that comes next under this name, or later.
  /// Members in front of it say what was measured, those behind it what came out.  `samples`: the same figure
  /// of each round.
  Line& figure(const char* name, double value, const char* unit, Better better,
               const std::vector<double>& samples = {});
  /// Where it stands in the picture: on which line, and at which size.
  Line& at(std::string series, double size);

 private:
  friend class Report;
  Line& member(const char* name, const std::string& value);
  std::string json_, cells_, unit_, series_;
  double figure_ = 0, size_ = 0;
};

/// Made by all PEs, for one subcommand.
class Report {
 public:
  /// Collective.  `about`: what is measured, in a line.  `steps`: rows that will come, for the progress; 0:
  /// not known.
  Report(const char* command, const ReportOptions& options, const std::string& about, std::size_t steps = 0);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  /// A line of the table that is no row.
  void say(const std::string& line) const;
  /// What is being measured now.
  void next(const std::string& what);
  /// Collective.  `right`: whether this PE has found what it should.
  void row(Line line, bool right);
  /// Collective.  Writes the picture; the exit code.
  int end();

  int nodes() const { return nodes_; }

 private:
  void erase_progress() const;

  struct Point {
    std::string series;
    double x, y;
  };
  const std::string command_;
  const ReportOptions options_;
  const bool prints_;
  const int nodes_;
  const std::size_t steps_;
  std::size_t step_ = 0, wrong_ = 0;
  int terminal_ = -1;
  std::string unit_;
  std::vector<Point> points_;
};

}  // namespace bench
