// SPDX-License-Identifier: BSD-3-Clause
// What servers may say, and what they may fail to do; a server that does its work is tested by every job that
// oshrun starts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "boot/boot.hpp"
#include "environment.hpp"
#include "fake_pmix.hpp"
#include "processes.hpp"

namespace shm {
namespace {

using test::number_answer;
using test::text_answer;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

// In a process of its own: PMIx keeps what it has seen.
void expect_refusal(bool with_rank) {
  test::run_process([with_rank] {
    setenv("PMIX_NAMESPACE", "gone", 1);
    if (with_rank) {
      setenv("PMIX_RANK", "0", 1);
    } else {
      unsetenv("PMIX_RANK");
    }
    Result<std::unique_ptr<Boot>> boot = make_boot();
    if (!boot.ok()) return false;
    const Status status = boot.value()->join(Env());
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.text(), HasSubstr("PMIX_NAMESPACE"));
    EXPECT_THAT(status.text(), HasSubstr("oshrun"));
    boot.value()->leave();  // must not touch a PMIx that never started
    return true;
  });
}

TEST(PmixBoot, SaysSoWhenItsServerIsGone) { expect_refusal(true); }
TEST(PmixBoot, SaysSoWhenTheEnvironmentIsIncomplete) { expect_refusal(false); }

/// PE 2 of a job of 5 PEs, of which this host has three.
class PmixServer : public ::testing::Test {
 protected:
  PmixServer() {
    server.rank = 2;
    server.answers[{PMIX_RANK_WILDCARD, PMIX_JOB_SIZE}] = number_answer(std::uint32_t{5}, PMIX_UINT32);
    server.answers[{PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS}] = text_answer("0,2,4");
    server.answers[{2, PMIX_HOSTNAME}] = text_answer("island");
    env.init_timeout = 7;
    environment.unset("ATOLL_JOB_ID");
  }
  std::string join_error() {
    const Status status = boot->join(env);
    EXPECT_FALSE(status.ok());
    return status.text();
  }

  test::ScopedEnvironment environment;
  test::FakePmix server;
  Env env;
  const std::unique_ptr<Boot> boot = make_pmix_boot();
};

TEST_F(PmixServer, DescribesTheJob) {
  ASSERT_TRUE(boot->join(env).ok());
  const Job& job = boot->job();
  EXPECT_EQ(job.rank, 2);
  EXPECT_EQ(job.size, 5);
  EXPECT_THAT(job.node_pes, ElementsAre(0, 2, 4));
  EXPECT_EQ(job.id, server.nspace);
  EXPECT_EQ(job.host, "island");
  EXPECT_FALSE(job.one_host);
}

// The threads that it starts have the mask of this one.
TEST_F(PmixServer, LeavesSignalsToTheThreadsOfTheProgram) {
  sigset_t before, after;
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  ASSERT_TRUE(boot->join(env).ok());
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGURG, SIGUSR1, SIGCHLD}) {
    EXPECT_EQ(sigismember(&server.blocked_at_init, signal), 1) << signal;
    EXPECT_EQ(sigismember(&after, signal), sigismember(&before, signal)) << signal;
  }
}

TEST_F(PmixServer, MayListPeersAsRangesAndInAnyOrder) {
  server.answers[{PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS}] = text_answer("4,0-3");
  ASSERT_TRUE(boot->join(env).ok());
  EXPECT_THAT(boot->job().node_pes, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_TRUE(boot->job().one_host);
}

TEST_F(PmixServer, IsDividedIntoVirtualNodes) {
  server.answers[{PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS}] = text_answer("0-4");
  env.virtual_nodes = 2;
  ASSERT_TRUE(boot->join(env).ok());
  EXPECT_THAT(boot->job().node_pes, ElementsAre(0, 1, 2));
  boot->leave();
  boot->end();
  env.virtual_order = "cyclic";
  ASSERT_TRUE(boot->join(env).ok());
  EXPECT_THAT(boot->job().node_pes, ElementsAre(0, 2, 4));
}

TEST_F(PmixServer, MayUseAnyTypeOfInteger) {
  const test::FakePmix::Answer sizes[] = {number_answer(std::uint32_t{5}, PMIX_UINT32),
                                          number_answer(std::int32_t{5}, PMIX_INT32),
                                          number_answer(5, PMIX_INT),
                                          number_answer(5u, PMIX_UINT),
                                          number_answer(std::uint16_t{5}, PMIX_UINT16),
                                          number_answer(std::uint64_t{5}, PMIX_UINT64),
                                          number_answer(std::size_t{5}, PMIX_SIZE),
                                          number_answer(pmix_rank_t{5}, PMIX_PROC_RANK)};
  for (const auto& size : sizes) {
    server.answers[{PMIX_RANK_WILDCARD, PMIX_JOB_SIZE}] = size;
    const std::unique_ptr<Boot> again = make_pmix_boot();
    ASSERT_TRUE(again->join(env).ok());
    EXPECT_EQ(again->job().size, 5);
  }
}

TEST_F(PmixServer, IsNotBelievedWithoutTheSizeOfTheJob) {
  server.answers[{PMIX_RANK_WILDCARD, PMIX_JOB_SIZE}] = text_answer("five");
  EXPECT_THAT(join_error(), HasSubstr("how many PEs"));
  server.answers.erase({PMIX_RANK_WILDCARD, PMIX_JOB_SIZE});
  EXPECT_THAT(make_pmix_boot()->join(env).text(), HasSubstr("how many PEs"));
}

TEST_F(PmixServer, IsNotBelievedWithoutThePeersOfTheHost) {
  server.answers.erase({PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS});
  EXPECT_THAT(join_error(), HasSubstr("which PEs share this host"));
  server.answers[{PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS}] = number_answer(3, PMIX_INT);
  EXPECT_THAT(make_pmix_boot()->join(env).text(), HasSubstr("which PEs share this host"));
}

TEST_F(PmixServer, IsNotBelievedIfThisPeIsNoPeerOfTheHost) {
  server.answers[{PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS}] = text_answer("0,1,3");
  EXPECT_THAT(join_error(), HasSubstr("(0,1,3) lacks this PE, 2"));
}

TEST_F(PmixServer, NeedNotKnowTheHostsName) {
  server.answers.erase({2, PMIX_HOSTNAME});
  ASSERT_TRUE(boot->join(env).ok());
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  EXPECT_EQ(boot->job().host, name);
}

// A server that has no tokens: Open MPI's, Slurm's.
TEST_F(PmixServer, IsGivenTheTokenThatTheLeaderOfANodeMakes) {
  server.rank = 0;
  std::uint64_t last = 0;
  for (int life = 0; life < 3; ++life) {
    const std::unique_ptr<Boot> leader = make_pmix_boot();
    ASSERT_TRUE(leader->join(env).ok());
    server.calls.clear();
    Result<std::uint64_t> token = leader->node_token();
    ASSERT_TRUE(token.ok()) << token.status().text();
    EXPECT_EQ(server.how, PMIX_OPTIONAL) << "nobody would ever answer this question";
    EXPECT_THAT(server.calls, ElementsAre("PMIx_Put", "PMIx_Commit")) << "and no fence";
    EXPECT_EQ(server.numbers["atoll.token"], token.value());
    EXPECT_EQ(server.scope, PMIX_LOCAL);
    EXPECT_NE(token.value(), last);
    EXPECT_NE(token.value(), 0U);
    last = token.value();
  }
}

TEST_F(PmixServer, IsNotGivenATokenThatNobodyAsksFor) {
  env.virtual_nodes = 3;  // of one PE each
  ASSERT_TRUE(boot->join(env).ok());
  server.calls.clear();
  Result<std::uint64_t> token = boot->node_token();
  EXPECT_NE(token.value(), 0U);
  EXPECT_TRUE(server.calls.empty());
}

TEST_F(PmixServer, TellsTheTokenOfTheLeader) {
  server.answers[{0, "atoll.token"}] = number_answer(std::uint64_t{77}, PMIX_UINT64);
  server.answers[{2, "atoll.token"}] = number_answer(std::uint64_t{78}, PMIX_UINT64);
  ASSERT_TRUE(boot->join(env).ok());
  server.absent_first = 3;  // the leader comes later
  EXPECT_EQ(boot->node_token().value(), 77U);
  EXPECT_EQ(server.absent_first, 0);
  EXPECT_EQ(server.how, PMIX_IMMEDIATE) << "what waits at the server may be forgotten there";
}

TEST_F(PmixServer, MayHaveATokenForTheLeader) {
  server.rank = 0;
  server.answers[{0, "atoll.token"}] = number_answer(std::uint64_t{77}, PMIX_UINT64);
  ASSERT_TRUE(boot->join(env).ok());
  server.calls.clear();
  EXPECT_EQ(boot->node_token().value(), 77U);
  EXPECT_TRUE(server.calls.empty());
}

TEST_F(PmixServer, MayHaveNoTokenForAMember) {
  env.init_timeout = 0.01;
  ASSERT_TRUE(boot->join(env).ok());
  EXPECT_EQ(boot->node_token().status().text(),
            "PMIx_Get of the node's token from PE 0, its first, failed: TIMEOUT (" +
                std::to_string(PMIX_ERR_TIMEOUT) + ") (SHMEM_INIT_TIMEOUT is 0.01 seconds)");
  server.answers[{0, "atoll.token"}] = text_answer("77");
  EXPECT_THAT(boot->node_token().status().text(), HasSubstr("failed: TYPE-MISMATCH"));
}

TEST_F(PmixServer, MayFailToTakeAToken) {
  server.rank = 0;
  ASSERT_TRUE(boot->join(env).ok());
  for (const char* call : {"PMIx_Put", "PMIx_Commit"}) {
    server.failures = {{call, PMIX_ERR_UNREACH}};
    EXPECT_THAT(boot->node_token().status().text(), HasSubstr(std::string(call) + " failed: "));
    EXPECT_EQ(server.calls.back(), call) << "nothing is tried after that";
  }
}

TEST_F(PmixServer, GetsWhatIsExchangedAndCollectsIt) {
  ASSERT_TRUE(boot->join(env).ok());
  const std::vector<std::byte> mine = {std::byte{1}, std::byte{0}, std::byte{255}};
  ASSERT_TRUE(boot->exchange(mine).ok());
  EXPECT_EQ(server.put, mine);
  EXPECT_THAT(server.calls, ElementsAre("PMIx_Init", "PMIx_Put", "PMIx_Commit", "PMIx_Fence"));
  EXPECT_TRUE(server.collects) << "a fence that collects nothing is no barrier under Slurm";
  EXPECT_EQ(server.seconds, 8) << "one more than SHMEM_INIT_TIMEOUT";
}

TEST_F(PmixServer, GetsNothingFromWhoHasNothingToSay) {
  ASSERT_TRUE(boot->join(env).ok());
  ASSERT_TRUE(boot->exchange({}).ok());
  EXPECT_THAT(server.calls, ElementsAre("PMIx_Init", "PMIx_Commit", "PMIx_Fence"));
}

TEST_F(PmixServer, MayFailInEachStepOfAnExchange) {
  ASSERT_TRUE(boot->join(env).ok());
  for (const auto& [call, text] : {std::pair{"PMIx_Put", "PMIx_Put failed: "},
                                   {"PMIx_Commit", "PMIx_Commit failed: "},
                                   {"PMIx_Fence", "the exchange of addresses with the other PEs failed: "}}) {
    server.failures = {{call, PMIX_ERR_TIMEOUT}};
    server.calls.clear();
    const Status status = boot->exchange({std::byte{1}});
    EXPECT_THAT(status.text(), HasSubstr(std::string(text) + PMIx_Error_string(PMIX_ERR_TIMEOUT) + " (" +
                                         std::to_string(PMIX_ERR_TIMEOUT) + ")"));
    EXPECT_EQ(server.calls.back(), call) << "nothing is tried after that";
  }
  EXPECT_THAT(boot->barrier().text(), HasSubstr("the last barrier with the other PEs failed: "));
  EXPECT_THAT(boot->barrier().text(), HasSubstr("SHMEM_INIT_TIMEOUT is 7 seconds"));
}

// Of five processes two are memory servers; this is PE 2.
TEST_F(PmixServer, KnowsWhoHasNotComeToAnExchangeWithMemoryServers) {
  server.answers[{PMIX_RANK_WILDCARD, PMIX_LOCAL_PEERS}] = text_answer("0-4");
  for (const pmix_rank_t rank : {0u, 3u}) {
    server.answers[{rank, "atoll.exchange"}] = number_answer(5, PMIX_INT);
  }
  env.memory_servers = 2;
  ASSERT_TRUE(boot->join(env).ok());
  ASSERT_EQ(boot->job().size, 3);
  server.failures = {{"PMIx_Fence", PMIX_ERR_TIMEOUT}};
  EXPECT_THAT(boot->exchange({std::byte{1}}).text(),
              AllOf(HasSubstr("the exchange of addresses with the other PEs failed: "),
                    EndsWith("; PE 1, PE 4 have not come to it")));
  server.answers[{1, "atoll.exchange"}] = number_answer(5, PMIX_INT);
  EXPECT_THAT(boot->exchange({std::byte{1}}).text(), EndsWith("; PE 4 has not come to it"));
}

TEST_F(PmixServer, LeavesNoJobWithoutPes) {
  env.memory_servers = 5;
  EXPECT_THAT(boot->join(env).text(), HasSubstr("SHMEM_MEMORY_SERVERS is 5, but the job has 5 processes in all; "
                                                "allowed are fewer"));
}

TEST_F(PmixServer, BringsWhatOthersGave) {
  ASSERT_TRUE(boot->join(env).ok());
  std::string text = "abc";
  server.answers[{4, "atoll.exchange"}] = [&](pmix_value_t& value) {
    pmix_byte_object_t bytes{text.data(), text.size()};
    PMIx_Value_load(&value, &bytes, PMIX_BYTE_OBJECT);
  };
  server.answers[{3, "atoll.exchange"}] = number_answer(5, PMIX_INT);
  EXPECT_THAT(boot->fetch(4).value(), ElementsAre(std::byte{'a'}, std::byte{'b'}, std::byte{'c'}));
  EXPECT_TRUE(boot->fetch(3).value().empty()) << "no bytes";
  EXPECT_THAT(boot->fetch(1).status().text(), HasSubstr("the address of PE 1 failed"));
}

TEST_F(PmixServer, IsLeftAtOnceIfItIsOshruns) {
  environment.set("ATOLL_JOB_ID", "job-1");
  for (int life = 0; life < 3; ++life) {
    ASSERT_TRUE(boot->join(env).ok());
    boot->leave();
  }
  boot->end();
  EXPECT_THAT(server.calls, ElementsAre("PMIx_Init", "PMIx_Finalize", "PMIx_Init", "PMIx_Finalize",
                                        "PMIx_Init", "PMIx_Finalize"));
}

TEST_F(PmixServer, IsLeftAtTheEndOfTheProcessIfItIsAnyOther) {
  environment.set("ATOLL_JOB_ID", "job-2");
  for (int life = 0; life < 3; ++life) {
    ASSERT_TRUE(boot->join(env).ok());
    boot->end();
    boot->leave();
  }
  EXPECT_THAT(server.calls, ElementsAre("PMIx_Init"));
  boot->end();
  boot->end();
  EXPECT_THAT(server.calls, ElementsAre("PMIx_Init", "PMIx_Finalize"));
}

// Each PMIx_Init takes a key for thread-specific data, of which a process has 1024.
TEST_F(PmixServer, IsNotLeftAndJoinedForEver) {
  environment.set("ATOLL_JOB_ID", "job-1");
  for (int life = 0; life < 2000; ++life) {
    ASSERT_TRUE(boot->join(env).ok());
    boot->leave();
  }
  EXPECT_LT(std::count(server.calls.begin(), server.calls.end(), "PMIx_Init"), 200);
  boot->end();
  EXPECT_EQ(server.calls.back(), "PMIx_Finalize");
}

TEST_F(PmixServer, IsToldToEndTheJobByWhoHasJoined) {
  boot->abort(3, nullptr);
  EXPECT_EQ(server.abort_code, -1);
  ASSERT_TRUE(boot->join(env).ok());
  boot->abort(3, nullptr);
  EXPECT_EQ(server.abort_code, 3);
  EXPECT_EQ(server.abort_message, "");
}

// What oshrun calls the job is part of its namespace, which nobody is told; other launchers' jobs have that
// alone.
TEST_F(PmixServer, NamesTheJobAsOshrunDoes) {
  environment.set("ATOLL_JOB_ID", "job-1");
  ASSERT_TRUE(boot->join(env).ok());
  EXPECT_EQ(boot->job().id, "job-1");
  EXPECT_TRUE(boot->job().by_oshrun);
  boot->leave();
  environment.set("ATOLL_JOB_ID", "job-");  // of a job around this one
  ASSERT_TRUE(boot->join(env).ok());
  EXPECT_EQ(boot->job().id, server.nspace);
  EXPECT_FALSE(boot->job().by_oshrun);
}

// oshrun says it if no PE has died; who knows nothing of that would not.
TEST_F(PmixServer, HearsASuspicionIfItIsOshrun) {
  ASSERT_TRUE(boot->join(env).ok());
  ::testing::internal::CaptureStderr();
  boot->abort(1, "PE 2 is lost\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "PE 2 is lost\n");
  EXPECT_EQ(server.abort_message, "");
  environment.set("ATOLL_JOB_ID", "job-1");
  ::testing::internal::CaptureStderr();
  boot->abort(1, "PE 2 is lost\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(server.abort_message, "suspicion: PE 2 is lost\n");
}

TEST_F(PmixServer, MayBeGone) {
  server.failures = {{"PMIx_Init", PMIX_ERR_UNREACH}};
  EXPECT_THAT(join_error(), HasSubstr("cannot be reached"));
  boot->leave();
  boot->end();
  EXPECT_THAT(server.calls, ElementsAre("PMIx_Init"));
}

}  // namespace
}  // namespace shm
