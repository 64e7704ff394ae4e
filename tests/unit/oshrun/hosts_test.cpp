// SPDX-License-Identifier: BSD-3-Clause
#include "hosts.hpp"

#include <gtest/gtest.h>

namespace oshrun {
namespace {

using Hosts = std::vector<Host>;

Hosts listed(const std::string& list) {
  HostList result = parse_host_list("-H", list);
  EXPECT_EQ(result.error, "") << list;
  return result.hosts;
}

Hosts filed(const std::string& text) {
  HostList result = parse_hostfile("f", text);
  EXPECT_EQ(result.error, "") << text;
  return result.hosts;
}

Hosts placed(const Hosts& hosts, int processes) {
  Placement result = place(hosts, processes);
  EXPECT_EQ(result.error, "");
  return result.hosts;
}

TEST(Hosts, OfAList) {
  EXPECT_EQ(listed("a"), (Hosts{{"a", {}}}));
  EXPECT_EQ(listed("a,b:2,c.d"), (Hosts{{"a", {}}, {"b", 2}, {"c.d", {}}}));
  EXPECT_EQ(listed("10.0.0.1:3"), (Hosts{{"10.0.0.1", 3}}));
}

TEST(Hosts, ANameThatComesAgainHasMorePlaces) {
  EXPECT_EQ(listed("a,b,a"), (Hosts{{"a", 2}, {"b", {}}}));
  EXPECT_EQ(listed("a:2,b,a:3"), (Hosts{{"a", 5}, {"b", {}}}));
  EXPECT_EQ(filed("a\na\na\n"), (Hosts{{"a", 3}}));
}

TEST(Hosts, OfAFile) {
  EXPECT_EQ(filed("a\nb:2\n"), (Hosts{{"a", {}}, {"b", 2}}));
  EXPECT_EQ(filed("# all\n\n  a\tslots=4  # first\r\nb slots=1"), (Hosts{{"a", 4}, {"b", 1}}));
}

TEST(Hosts, RefusesWhatIsNoHost) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "''"},         {"a,,b", "''"},         {"a,", "''"},       {":2", "':2'"},
      {"a:0", "'a:0'"},   {"a:x", "'a:x'"},       {"a:", "'a:'"},     {"a:1:2", "'a:1:2'"},
      {"a:-1", "'a:-1'"}, {"n[1-2]", "'n[1-2]'"}, {"me@a", "'me@a'"}, {"-n", "'-n'"},
      {"a..b", "'a..b'"}, {".a", "'.a'"},         {"a.", "'a.'"},     {"a b", "'a b'"},
      {"a/b", "'a/b'"},   {"\u00e4", "'\u00e4'"}, {"a=b", "'a=b'"}};
  for (const auto& [list, word] : wrong) {
    const std::string error = parse_host_list("-H", list).error;
    EXPECT_TRUE(error.starts_with(std::string("oshrun: -H '") + list + "': " + word + ": ")) << error;
  }
}

TEST(Hosts, ShowsWhatATerminalWouldHide) {
  EXPECT_EQ(parse_host_list("-H", "a\x1b[2J\n").error,
            "oshrun: -H 'a\\x1b[2J\\x0a': 'a\\x1b[2J\\x0a': give hosts one by one, each by its name "
            "(letters, digits, - "
            "and _, and dots between them) or IPv4 address");
  EXPECT_NE(parse_hostfile("f", std::string("a\0b", 3)).error.find("'a\\x00b'"), std::string::npos);
  EXPECT_LT(parse_hostfile("f", std::string(1 << 20, '[')).error.size(), 500U);
}

TEST(Hosts, NeedsNamesForIpv6) {
  for (const char* list : {"fe80::1", "[fe80::1]:2", "::1", "2001:db8:0:0:0:0:0:1"})
    EXPECT_NE(parse_host_list("-H", list)
                  .error.find(": give a host with an IPv6 address by its name, and places as in a:4"),
              std::string::npos)
        << list;
  for (const char* list : {"a:1:2", "[n1", "n::1", "b]"})
    EXPECT_EQ(parse_host_list("-H", list).error.find("IPv6"), std::string::npos) << list;
}

TEST(Hosts, RefusesNamesThatMayMeanOneHost) {
  for (const char* list :
       {"n1,N1", "n1,n1.domain", "n1.domain,x,n1:2", "n1.a,N1.A", "n1.a,n1.b,n1",
        "localhost:1,127.0.0.1:1,n2:1", "127.0.1.1,LOCALHOST", "localhost.localdomain,x,localhost"}) {
    const std::string error = parse_host_list("-H", list).error;
    EXPECT_NE(error.find(" may be one host; call it by one name, and two hosts by names with their domains"),
              std::string::npos)
        << list << error;
  }
  EXPECT_EQ(parse_host_list("-H", "n1,N1").error.find("oshrun: -H 'n1,N1': 'n1' and 'N1' may be one host"),
            0U);
  EXPECT_EQ(listed("n1.a,n1.b,n1.a"), (Hosts{{"n1.a", 2}, {"n1.b", {}}}));
  EXPECT_EQ(listed("10.0.0.1,10.0.0.2,10"), (Hosts{{"10.0.0.1", {}}, {"10.0.0.2", {}}, {"10", {}}}));
}

TEST(Hosts, HaveNoMorePlacesThanAnyHas) {
  EXPECT_NE(parse_host_list("-H", "a:2147483647,b:2147483647")
                .error.find("'a:2147483647': the number of places must be a whole number from 1 to 1000000"),
            std::string::npos);
  std::string often = "a:1000000";
  EXPECT_EQ(listed(often), (Hosts{{"a", 1000000}}));
  for (int i = 0; i < 2200; ++i) often += ",a:1000000";
  EXPECT_NE(parse_host_list("-H", often).error.find("'a' has more than 1000000 places in all"),
            std::string::npos);
}

TEST(Hosts, RefusesLinesThatMeanNothing) {
  EXPECT_EQ(
      parse_hostfile("f", "a max_slots=3\n").error,
      "oshrun: --hostfile 'f': 'max_slots=3' is not understood; give NAME, NAME:PLACES or NAME slots=PLACES");
  EXPECT_NE(parse_hostfile("f", "a slots=0\n").error, "");
  EXPECT_NE(parse_hostfile("f", "a b\n").error, "");
  EXPECT_EQ(parse_hostfile("f", "# nobody\n").error, "oshrun: --hostfile 'f': it names no host");
}

TEST(Hosts, CountPlaces) {
  EXPECT_EQ(places(listed("a,b,c")), 3);
  EXPECT_EQ(places(listed("a:4,b")), 5);
}

TEST(Hosts, ShareEvenlyWhereNothingIsCounted) {
  EXPECT_EQ(placed(listed("a,b"), 4), (Hosts{{"a", 2}, {"b", 2}}));
  EXPECT_EQ(placed(listed("a,b,c"), 8), (Hosts{{"a", 3}, {"b", 3}, {"c", 2}}));
  EXPECT_EQ(placed(listed("a,b,c"), 2), (Hosts{{"a", 1}, {"b", 1}}));
}

TEST(Hosts, GetWhatTheyHavePlacesFor) {
  EXPECT_EQ(placed(listed("a:1,b:3"), 4), (Hosts{{"a", 1}, {"b", 3}}));
  EXPECT_EQ(placed(listed("a:3,b:3"), 4), (Hosts{{"a", 3}, {"b", 1}}));
  EXPECT_EQ(placed(listed("a:3,b"), 3), (Hosts{{"a", 3}}));
  EXPECT_EQ(place(listed("a:3,b"), 5).error,
            "oshrun: the hosts have places for 4 processes, and the job has 5; name more hosts, or give "
            "places as in "
            "a:4");
}

TEST(Hosts, MayNotHaveThisOneTwice) {
  EXPECT_EQ(
      named_twice(listed("h1:1,localhost:1,n2:1"), "h1.domain"),
      "oshrun: the list of hosts has 'localhost' and 'h1', which are both this host; call it by one name");
  EXPECT_NE(named_twice(listed("127.0.0.1,h1"), "h1"), "");
  for (const char* list : {"h1,n2,h1", "localhost,n2,localhost", "n1,n2"})
    EXPECT_EQ(named_twice(listed(list), "h1"), "") << list;
}

TEST(Hosts, KnowThisHost) {
  for (const char* name : {"localhost", "Localhost", "127.0.0.1", "127.0.1.1", "h1", "h1.domain", "H1"})
    EXPECT_TRUE(is_this_host(name, "h1")) << name;
  EXPECT_TRUE(is_this_host("h1", "h1.domain"));
  for (const char* name : {"h2", "h", "h11", "10.0.0.1", "", "h2.h1"})
    EXPECT_FALSE(is_this_host(name, "h1")) << name;
  EXPECT_FALSE(is_this_host("h1.other", "h1.domain"));
  EXPECT_FALSE(is_this_host("10.0.0.1", "10.0.0.2"));
}

}  // namespace
}  // namespace oshrun
