// SPDX-License-Identifier: BSD-3-Clause
// What clang must refuse, one CASE each; case 0 is right throughout, and shows how the annotations are used.
#include <vector>

#include "base/mutex.hpp"
#include "base/spin.hpp"

namespace {

class Account {
 public:
  int balance() {
    const shm::LockGuard guard(mutex_);
    return balance_;
  }
  bool try_add(int n) {
    if (!mutex_.try_lock()) return false;
    const shm::LockGuard guard(mutex_, std::adopt_lock);
    add(n);
    return true;
  }
  void move_to_log() {
    const shm::LockGuard guard(mutex_);
    const shm::LockGuard writing(log_lock_);
    log_.push_back(balance_);
  }
  int rate() {
    const shm::SharedLockGuard guard(rates_lock_);
    return rate_;
  }
  void begin() ACQUIRE(mutex_) { mutex_.lock(); }
  void end() RELEASE(mutex_) { mutex_.unlock(); }

  void wrong();

 private:
  void add(int n) REQUIRES(mutex_) { balance_ += n; }

  shm::Mutex mutex_ ACQUIRED_BEFORE(log_lock_);
  int balance_ GUARDED_BY(mutex_) = 0;
  shm::SpinLock log_lock_;
  std::vector<int> log_ GUARDED_BY(log_lock_);
  shm::SharedMutex rates_lock_;
  int rate_ GUARDED_BY(rates_lock_) = 1;
};

void Account::wrong() {
#if CASE == 1
  balance_ = 0;
#elif CASE == 2
  const shm::SharedLockGuard guard(rates_lock_);
  rate_ = 2;
#elif CASE == 3
  add(1);
#elif CASE == 4
  begin();
#elif CASE == 5
  const shm::LockGuard writing(log_lock_);
  const shm::LockGuard guard(mutex_);
#endif
}

}  // namespace

int main() {
  Account account;
  account.wrong();
  account.begin();
  account.end();
  account.move_to_log();
  return account.try_add(account.rate()) ? account.balance() : 0;
}
