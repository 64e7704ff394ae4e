// SPDX-License-Identifier: BSD-3-Clause
// A picture of figures by size, both axes logarithmic, as an SVG file that needs nothing else.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace bench {

class Plot {
 public:
  /// `unit`: of the figures, along the y axis.
  Plot(std::string title, std::string unit) : title_(std::move(title)), unit_(std::move(unit)) {}
  /// Points of a series are joined in the order of the calls.  Those that are not above 0 have no place.
  void add(const std::string& series, double x, double y);
  std::string svg() const;
  /// False: the file cannot be written.
  bool write(const std::string& path) const;

 private:
  struct Series {
    std::string name;
    std::vector<std::pair<double, double>> points;
  };
  std::string title_, unit_;
  std::vector<Series> series_;
};

}  // namespace bench
