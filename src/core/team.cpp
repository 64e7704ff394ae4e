// SPDX-License-Identifier: BSD-3-Clause
#include "core/team.hpp"

#include <algorithm>

namespace shm {

int Team::member(int pe) const {
  int place = pe;
  if (table != nullptr) {
    const int* found = std::lower_bound(table, table + places, pe);
    if (found == table + places || *found != pe) return -1;
    place = static_cast<int>(found - table);
  }
  const int distance = place - start;
  if (size == 1 || stride == 0) return distance == 0 ? 0 : -1;
  if (distance % stride != 0) return -1;
  const int number = distance / stride;
  return number >= 0 && number < size ? number : -1;
}

}  // namespace shm
