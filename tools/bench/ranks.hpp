// SPDX-License-Identifier: BSD-3-Clause
// Do two sets of samples come from one distribution?  Pure.
#pragma once

#include <vector>

namespace bench {

/// Two-sided p value of the rank test of Mann and Whitney: how often samples of one distribution would be
/// ranked as unevenly as these.  Exact where there are no ties and at most 400 pairs, else by the normal
/// distribution, with the correction for ties.  1 where a set is empty.
double rank_test(const std::vector<double>& a, const std::vector<double>& b);

/// The least p that so many samples can give.
double least_p(std::size_t a, std::size_t b);

/// Which of many tests are to be believed, so that of those in twenty at most one is so by chance: the
/// step-up rule of Benjamini and Hochberg for a rate of false discoveries of 5 %.
std::vector<bool> believed(const std::vector<double>& p);

double median(std::vector<double> values);

}  // namespace bench
