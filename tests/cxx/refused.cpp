// SPDX-License-Identifier: BSD-3-Clause
// What shmem.hpp refuses when it is compiled: each line that says so must give an error that has this word.
// Without these lines the file compiles, without warnings (refused.py).
#include <shmem.hpp>

#include <string>
#include <vector>

struct Point {
  double x, y;
};

void fine(shmem::symmetric_array<long>& numbers, shmem::symmetric_array<Point>& points, const long* constant,
          std::vector<long>& local, shmem::team& team) {
  static short half;
  static double real;
  static long long bits;
  shmem::atomic_or(&bits, 1, 0);
  shmem::put(numbers, local, 0);
  shmem::put_nbi(numbers, std::span(local).first(1), 0);
  shmem::get(local, constant, 0);
  shmem::p(points.data(), {1, 2}, 0);
  shmem::wait_until(&half, shmem::cmp::eq, 0);
  shmem::atomic_set(&real, 1, 0);
  shmem::sum_reduce(team, &real, std::span(&real, 1));
}

void refused(shmem::symmetric_array<long>& numbers, shmem::symmetric_array<Point>& points,
             const long* constant, std::vector<long>& local, shmem::team& team, shmem::context& context) {
  static short half;
  static double real;
  shmem::put(points, local, 0);                         // refused: elements_for
  shmem::symmetric_array<std::string> strings(1);       // refused: element<
  shmem::atomic_add(&half, 1, 0);                       // refused: atomic_type
  shmem::atomic_or(&real, 1, 0);                        // refused: bitwise_type
  shmem::put_nbi(numbers, std::vector<long>(3), 0);     // refused: borrowed_range
  shmem::get_nbi(std::vector<long>(3), numbers, 0);     // refused: borrowed_range
  shmem::put(constant, local, 0);                       // refused: writable
  shmem::wait_until(&real, shmem::cmp::eq, 1);          // refused: waitable_type
  shmem::wait_until(constant, shmem::cmp::eq, 1);       // refused: waitable_type
  shmem::sum_reduce(team, points, points);              // refused: reducible_sum
  shmem::and_reduce(team, &real, std::span(&real, 1));  // refused: reducible_bits
  shmem::symmetric_array<long> copy(numbers);           // refused: delete
  shmem::context second(context);                       // refused: delete
  shmem::wait_until(numbers.data(), SHMEM_CMP_EQ, 1);   // refused: cmp
  shmem::put(numbers, local, 0, team);                  // refused: context_like
  shmem::alltoalls(team, points, points, 1, 1, 1);      // refused: rma_type
  static_cast<void>(half), static_cast<void>(constant), static_cast<void>(context);
}
