// SPDX-License-Identifier: BSD-3-Clause
#include "wait_inquiry.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

namespace oshrun {
namespace {

/// Receives one datagram and says whether it is a record that a process of this user has sent.
bool receive(int fd, shm::WaitRecord& record, bool& ours, shm::UnixAddress& from) {
  const ssize_t size = shm::receive_from_user(fd, &record, sizeof record, MSG_DONTWAIT, ours, &from);
  if (size < 0) return false;
  ours = ours && size == sizeof record && record.layout == shm::WaitRecord::kLayout;
  return true;
}

}  // namespace

void WaitInquiry::listen(const std::string& job_id, int pes, std::chrono::milliseconds patience) {
  left_early_.assign(static_cast<std::size_t>(pes), false);
  listens_at_.resize(static_cast<std::size_t>(pes));
  patience_ = patience;
  sockaddr_un address;
  const socklen_t length = shm::wait_report_address(job_id.c_str(), address);
  UniqueFd fd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd || !shm::ask_for_senders(fd.get())) return;
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) return;
  socket_ = std::move(fd);
}

void WaitInquiry::begin(std::vector<PeWaits> states) {
  pes_ = std::move(states);
  expected_.assign(pes_.size(), -1);
  heard_.assign(pes_.size(), false);
  finalized_.assign(pes_.size(), false);
  for (std::size_t pe = 0; pe < pes_.size(); ++pe) {
    if (pes_[pe].state == PeWaits::State::kEnded) continue;
    finalized_[pe] = pes_[pe].state == PeWaits::State::kFinalized;
    // A PE that does not hear it stays silent, or what it is.
    const shm::UnixAddress& to = listens_at_[pe];
    const char question = '?';
    heard_[pe] =
        to.length > 0 && sendto(socket_.get(), &question, sizeof question, MSG_NOSIGNAL,
                                reinterpret_cast<const sockaddr*>(&to.name), to.length) == sizeof question;
    if (heard_[pe]) pes_[pe].state = PeWaits::State::kSilent;
  }
  deadline_ = Clock::now() + patience_;
}

void WaitInquiry::take_answers() {
  shm::WaitRecord record;
  shm::UnixAddress from;
  bool ours = false;
  // Who talks without end must not hold up the loop, which comes back.
  constexpr int kAtOnce = 1000;
  for (int taken = 0; taken < kAtOnce && socket_ && receive(socket_.get(), record, ours, from); ++taken)
    if (ours && record.pe >= 0 && static_cast<std::size_t>(record.pe) < left_early_.size())
      take(record, from);
}

void WaitInquiry::take(const shm::WaitRecord& record, const shm::UnixAddress& from) {
  const auto pe = static_cast<std::size_t>(record.pe);
  if (record.news == shm::WaitRecord::News::listens) listens_at_[pe] = from;
  if (record.news == shm::WaitRecord::News::leaves) left_early_[pe] = true;
  if (!deadline_) return;
  if (record.news == shm::WaitRecord::News::present) {
    expected_[pe] = record.waiting;
    const bool done = finalized_[pe] && record.waiting == 0;
    if (pes_[pe].state == PeWaits::State::kSilent)
      pes_[pe].state = done ? PeWaits::State::kFinalized : PeWaits::State::kPresent;
  } else if (record.news == shm::WaitRecord::News::waits) {
    pes_[pe].waits.push_back(record);
    pes_[pe].waits.back().call[sizeof record.call - 1] = '\0';
    pes_[pe].waits.back().what[sizeof record.what - 1] = '\0';
  }
}

bool WaitInquiry::done() const {
  for (std::size_t pe = 0; pe < pes_.size(); ++pe) {
    if (heard_[pe] && pes_[pe].state == PeWaits::State::kSilent) return false;
    if (static_cast<int>(pes_[pe].waits.size()) < expected_[pe]) return false;
  }
  return true;
}

std::vector<PeWaits> WaitInquiry::finish() {
  deadline_.reset();
  for (std::size_t pe = 0; pe < pes_.size(); ++pe) {
    pes_[pe].left_early = left_early_[pe];
    std::sort(pes_[pe].waits.begin(), pes_[pe].waits.end(),
              [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  }
  return std::move(pes_);
}

bool WaitInquiry::anybody_left_early() const {
  return std::find(left_early_.begin(), left_early_.end(), true) != left_early_.end();
}

}  // namespace oshrun
