// SPDX-License-Identifier: BSD-3-Clause
#include "ranks.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace bench {
namespace {

constexpr std::size_t kMostExactPairs = 400;

/// How many orders of `a` and `b` samples have U pairs the one way, for each U: of n samples the largest is
/// one of a, and above all b of the others, or one of b.
std::vector<double> orders(std::size_t a, std::size_t b) {
  std::vector<std::vector<double>> of(b + 1);  // of a smaller a, by b
  for (auto& one : of) one = {1};
  for (std::size_t i = 1; i <= a; ++i) {
    std::vector<std::vector<double>> next(b + 1);
    next[0] = {1};
    for (std::size_t j = 1; j <= b; ++j) {
      next[j].assign(i * j + 1, 0);
      for (std::size_t u = 0; u < of[j].size(); ++u) next[j][u + j] += of[j][u];
      for (std::size_t u = 0; u < next[j - 1].size(); ++u) next[j][u] += next[j - 1][u];
    }
    of = std::move(next);
  }
  return of[b];
}

double exact(std::size_t a, std::size_t b, double u) {
  const std::vector<double> of = orders(a, b);
  const double all = std::accumulate(of.begin(), of.end(), 0.0);
  const auto least = static_cast<std::size_t>(std::min(u, static_cast<double>(a * b) - u));
  const double below = std::accumulate(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(least) + 1, 0.0);
  return std::min(1.0, 2 * below / all);
}

}  // namespace

double rank_test(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return 1;
  std::vector<double> all(a);
  all.insert(all.end(), b.begin(), b.end());
  std::sort(all.begin(), all.end());
  double ties = 0;
  for (std::size_t i = 0; i < all.size();) {
    const auto end = static_cast<std::size_t>(std::upper_bound(all.begin(), all.end(), all[i]) - all.begin());
    const auto same = static_cast<double>(end - i);
    ties += same * same * same - same;
    i = end;
  }
  double u = 0;
  for (const double x : a)
    for (const double y : b) u += x > y ? 1 : x == y ? 0.5 : 0;
  if (ties == 0 && a.size() * b.size() <= kMostExactPairs) return exact(a.size(), b.size(), u);
  const auto n = static_cast<double>(all.size()), pairs = static_cast<double>(a.size() * b.size());
  const double variance = pairs / 12 * (n + 1 - ties / (n * (n - 1)));
  if (variance <= 0) return 1;
  const double z = std::max(0.0, std::abs(u - pairs / 2) - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

double least_p(std::size_t a, std::size_t b) {
  if (a == 0 || b == 0) return 1;
  double orders_in_all = 1;
  for (std::size_t i = 1; i <= a; ++i) orders_in_all *= static_cast<double>(b + i) / static_cast<double>(i);
  return std::min(1.0, 2 / orders_in_all);
}

std::vector<bool> believed(const std::vector<double>& p) {
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return p[x] < p[y]; });
  std::size_t holds = 0;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (p[order[i]] <= 0.05 * static_cast<double>(i + 1) / static_cast<double>(p.size())) holds = i + 1;
  std::vector<bool> out(p.size(), false);
  for (std::size_t i = 0; i < holds; ++i) out[order[i]] = true;
  return out;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.empty() ? 0 : values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace bench
