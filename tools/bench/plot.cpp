// SPDX-License-Identifier: BSD-3-Clause
#include "plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

namespace bench {
namespace {

constexpr double kLeft = 70, kTop = 40, kWidth = 560, kHeight = 360;
constexpr const char* kColours[] = {"#1b6ca8", "#d1495b", "#2e8b57", "#8f5fbf",
                                    "#e08e0b", "#3b3b3b", "#00868b", "#a0522d"};

/// A range of an axis, in whole powers of ten.
struct Axis {
  double low = std::numeric_limits<double>::max(), high = 0;

  void hold(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  int first() const { return static_cast<int>(std::floor(std::log10(low))); }
  int last() const { return std::max(static_cast<int>(std::ceil(std::log10(high))), first() + 1); }
  /// 0 at the lowest power, 1 at the highest.
  double place(double value) const { return (std::log10(value) - first()) / (last() - first()); }
};

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char letter : text) {
    if (letter == '<')
      out += "&lt;";
    else if (letter == '&')
      out += "&amp;";
    else
      out += letter;
  }
  return out;
}

std::string label(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + number_text(x) + "\" y=\"" + number_text(y) + "\" text-anchor=\"" + anchor + "\">" +
         escaped(text) + "</text>\n";
}

std::string stroke(double x1, double y1, double x2, double y2) {
  return "<line x1=\"" + number_text(x1) + "\" y1=\"" + number_text(y1) + "\" x2=\"" + number_text(x2) +
         "\" y2=\"" + number_text(y2) + "\" stroke=\"#ddd\"/>\n";
}

}  // namespace

void Plot::add(const std::string& series, double x, double y) {
  if (!(x > 0) || !(y > 0) || !std::isfinite(x) || !std::isfinite(y)) return;
  auto found =
      std::find_if(series_.begin(), series_.end(), [&](const Series& one) { return one.name == series; });
  if (found == series_.end()) found = series_.insert(found, {series, {}});
  found->points.emplace_back(x, y);
}

std::string Plot::svg() const {
  Axis xs, ys;
  for (const Series& series : series_) {
    for (const auto& [x, y] : series.points) {
      xs.hold(x);
      ys.hold(y);
    }
  }
  std::string out =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"820\" height=\"460\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"820\" height=\"460\" fill=\"white\"/>\n" +
      label(kLeft, 22, "start", title_);
  if (series_.empty()) return out + label(kLeft, kTop + 20, "start", "nothing was measured") + "</svg>\n";
  const auto x_at = [&](double x) { return kLeft + kWidth * xs.place(x); };
  const auto y_at = [&](double y) { return kTop + kHeight * (1 - ys.place(y)); };
  for (int power = xs.first(); power <= xs.last(); ++power) {
    const double x = x_at(std::pow(10, power));
    out += stroke(x, kTop, x, kTop + kHeight) +
           label(x, kTop + kHeight + 18, "middle", number_text(std::pow(10, power)));
  }
  for (int power = ys.first(); power <= ys.last(); ++power) {
    const double y = y_at(std::pow(10, power));
    out += stroke(kLeft, y, kLeft + kWidth, y) +
           label(kLeft - 6, y + 4, "end", number_text(std::pow(10, power)));
  }
  out += label(kLeft + kWidth, kTop + kHeight + 36, "end", "bytes") + label(kLeft, kTop - 6, "end", unit_);
  for (std::size_t i = 0; i < series_.size(); ++i) {
    const std::string colour = kColours[i % std::size(kColours)];
    std::string line, dots;
    for (const auto& [x, y] : series_[i].points) {
      const std::string at_x = number_text(x_at(x)), at_y = number_text(y_at(y));
      line += (line.empty() ? "" : " ") + at_x + "," + at_y;
      dots += "<circle cx=\"" + at_x + "\" cy=\"" + at_y + "\" r=\"2.5\" fill=\"" + colour + "\"/>\n";
    }
    const double y = kTop + 12 + 16 * static_cast<double>(i);
    out += "<polyline points=\"" + line + "\" fill=\"none\" stroke=\"" + colour +
           "\" stroke-width=\"1.5\"/>\n" + dots + "<rect x=\"645\" y=\"" + number_text(y - 9) +
           "\" width=\"10\" height=\"10\" fill=\"" + colour + "\"/>\n" +
           label(660, y, "start", series_[i].name);
  }
  return out + "</svg>\n";
}

bool Plot::write(const std::string& path) const {
  std::ofstream file(path);
  file << svg();
  file.close();
  return !file.fail();
}

}  // namespace bench
