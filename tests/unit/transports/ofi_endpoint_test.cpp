// SPDX-License-Identifier: BSD-3-Clause
// Opening an endpoint: which of several addresses is taken, and what is said when a call fails.
#include "ofi/endpoint.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "fabric_faults.hpp"
#include "fabric_job.hpp"

namespace shm::ofi {
namespace {

using test::FabricCall;
using test::FabricFaults;
using test::loopback;

std::string error_of(const FabricOptions& options) {
  Result<std::unique_ptr<Endpoint>> endpoint = Endpoint::open(options);
  return endpoint.ok() ? "" : endpoint.status().text();
}

struct FailedCall {
  FabricCall call;
  int pass;
  const char* text;
};

TEST(OfiEndpoint, NamesTheCallThatFailed) {
  constexpr FailedCall kCalls[] = {
      {FabricCall::fabric, 0, "fi_fabric"},     {FabricCall::domain, 0, "fi_domain"},
      {FabricCall::av_open, 0, "fi_av_open"},   {FabricCall::cq_open, 0, "fi_cq_open"},
      {FabricCall::endpoint, 0, "fi_endpoint"}, {FabricCall::bind, 0, "fi_ep_bind(av)"},
      {FabricCall::bind, 1, "fi_ep_bind(cq)"},  {FabricCall::enable, 0, "fi_enable"},
      {FabricCall::getname, 0, "fi_getname"},   {FabricCall::recv, 0, "fi_recv"},
      {FabricCall::send, 0, "fi_send"},         {FabricCall::cq_read, 0, "fi_cq_read"},
  };
  for (const FailedCall& failed : kCalls) {
    FabricFaults faults;
    faults.fail(failed.call, -FI_ENOMEM, 1, failed.pass);
    const std::string text = error_of(loopback());
    EXPECT_NE(text.find(std::string(failed.text) + ": Cannot allocate memory"), std::string::npos)
        << failed.text << " failed, and open() said: " << text;
  }
  EXPECT_EQ(error_of(loopback()), "");
}

TEST(OfiEndpoint, NamesTheProviderThatCannotBeUsed) {
  FabricFaults faults;
  faults.fail(FabricCall::domain, -FI_ENOMEM);
  EXPECT_NE(error_of(loopback()).find("provider tcp;ofi_rxm cannot be used"), std::string::npos);
  faults.fail_always(FabricCall::getinfo, -FI_ENODATA);
  const std::string text = error_of({.loopback_only = true});
  EXPECT_NE(text.find("no libfabric provider (tcp;ofi_rxm: "), std::string::npos) << text;
}

FabricOptions on(const std::string& interface, bool one_host = true) {
  FabricOptions options = loopback();
  options.loopback_only = one_host;
  options.interface = interface;
  return options;
}

// The IPv4 address that the endpoint tells its peers.
std::string listens_on(const FabricOptions& options) {
  Result<std::unique_ptr<Endpoint>> endpoint = Endpoint::open(options);
  if (!endpoint.ok()) return endpoint.status().text();
  const std::vector<std::byte> name = endpoint.value()->name().value();
  sockaddr_in address{};
  std::memcpy(&address, name.data(), std::min(name.size(), sizeof address));
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return text;
}

TEST(OfiEndpoint, ListensOnTheInterfaceThatIsNamed) {
  EXPECT_EQ(listens_on(on("")), "127.0.0.1");
  EXPECT_EQ(listens_on(on("lo")), "127.0.0.1");
  EXPECT_EQ(listens_on(on("127.0.0.1")), "127.0.0.1");
  ifaddrs* list = nullptr;
  ASSERT_EQ(getifaddrs(&list), 0);
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET ||
        (entry->ifa_flags & IFF_UP) == 0)
      continue;
    char text[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr, text, sizeof text);
    EXPECT_EQ(listens_on(on(text)), text) << entry->ifa_name;
    EXPECT_EQ(listens_on(on(entry->ifa_name)), text) << "if it has one address";
  }
  freeifaddrs(list);
}

TEST(OfiEndpoint, AnInterfaceThatIsNotThereIsAnErrorWithThoseThatAre) {
  const std::string text = error_of(on("nope0"));
  EXPECT_NE(
      text.find("SHMEM_INTERFACE is 'nope0', which libfabric (tcp;ofi_rxm) does not have here; allowed are "),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("lo (127.0.0.1)"), std::string::npos) << text;
  EXPECT_NE(error_of(on("lo", false)).find("the job spans hosts"), std::string::npos);
}

TEST(OfiEndpoint, OwnAddressThatIsRefusedIsAnError) {
  FabricFaults faults;
  faults.fail(FabricCall::av_insert, 0);
  EXPECT_EQ(error_of(loopback()), "libfabric: the endpoint's own address was refused");
}

TEST(OfiEndpoint, RunsOutOfMemoryWithAnError) {
  for (const int pass : {0, 1}) {  // the hints; what was found
    FabricFaults faults;
    faults.fail(FabricCall::dupinfo, 0, 1, pass);
    EXPECT_EQ(error_of(loopback()), "libfabric: out of memory") << "call " << pass;
  }
}

TEST(OfiEndpoint, WaitsUntilItsFirstMessageHasRoom) {
  FabricFaults faults;
  faults.fail(FabricCall::send, -FI_EAGAIN, 5);
  EXPECT_EQ(error_of(loopback()), "");
  EXPECT_GT(faults.count(FabricCall::send), 5);
}

TEST(OfiEndpoint, DoesNotSleepWithoutADescriptor) {
  FabricFaults faults;
  faults.fail(FabricCall::getwait, -FI_ENOSYS);
  Result<std::unique_ptr<Endpoint>> endpoint = Endpoint::open(loopback());
  ASSERT_TRUE(endpoint.ok()) << endpoint.status().text();
  EXPECT_EQ(endpoint.value()->wait_fd(), -1);
  EXPECT_FALSE(endpoint.value()->may_sleep());
}

TEST(OfiEndpoint, SleepsOnlyIfTheProviderAgrees) {
  FabricFaults faults;
  Result<std::unique_ptr<Endpoint>> endpoint = Endpoint::open(loopback());
  ASSERT_TRUE(endpoint.ok()) << endpoint.status().text();
  faults.fail(FabricCall::trywait, -FI_EAGAIN);
  EXPECT_FALSE(endpoint.value()->may_sleep());
  EXPECT_TRUE(endpoint.value()->may_sleep());
}

TEST(OfiEndpoint, AnotherOneThatFailsIsAnError) {
  FabricFaults faults;
  Result<std::unique_ptr<Endpoint>> first = Endpoint::open(loopback());
  ASSERT_TRUE(first.ok()) << first.status().text();
  faults.fail(FabricCall::dupinfo, 0);
  EXPECT_EQ(first.value()->open_another().status().text(), "libfabric: out of memory");
  faults.fail(FabricCall::cq_open, -FI_ENOMEM);
  EXPECT_FALSE(first.value()->open_another().ok());
  EXPECT_TRUE(first.value()->open_another().ok());
}

TEST(OfiEndpoint, AProviderWithoutAtomicsHasNone) {
  FabricFaults faults;
  faults.edit_infos = [](fi_info*& list) {
    for (fi_info* info = list; info != nullptr; info = info->next) info->caps &= ~std::uint64_t{FI_ATOMIC};
  };
  Result<std::unique_ptr<Endpoint>> endpoint = Endpoint::open(loopback());
  ASSERT_TRUE(endpoint.ok()) << endpoint.status().text();
  EXPECT_EQ(endpoint.value()->quirk().atomics, Atomics::none);
}

// An interface with several addresses: the list that fi_getinfo() returns, and the one that is used.
struct Interface {
  std::vector<const char*> addresses;  // in the kernel's order
  const char* best;                    // null: none is of use
};

void set_address(fi_info& info, const char* address) {
  free(info.src_addr);
  free(info.fabric_attr->name);
  info.fabric_attr->name = strdup(address);
  info.src_addr = nullptr;
  info.src_addrlen = 0;
  info.addr_format = FI_SOCKADDR_IN;
  auto* v4 = static_cast<sockaddr_in*>(calloc(1, sizeof(sockaddr_in)));
  v4->sin_family = AF_INET;
  if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
    info.src_addr = v4;
    info.src_addrlen = sizeof *v4;
    return;
  }
  free(v4);
  info.addr_format = FI_SOCKADDR_IN6;
  auto* v6 = static_cast<sockaddr_in6*>(calloc(1, sizeof(sockaddr_in6)));
  v6->sin6_family = AF_INET6;
  ASSERT_EQ(inet_pton(AF_INET6, address, &v6->sin6_addr), 1) << address;
  info.src_addr = v6;
  info.src_addrlen = sizeof *v6;
}

// The list, each entry made of the first one of the real list.
void offer(FabricFaults& faults, const std::vector<const char*>& addresses) {
  faults.edit_infos = [addresses](fi_info*& list) {
    fi_info* made = nullptr;
    for (auto address = addresses.rbegin(); address != addresses.rend(); ++address) {
      fi_info* entry = load_library().value()->dupinfo(list);
      set_address(*entry, *address);
      entry->next = made;
      made = entry;
    }
    load_library().value()->freeinfo(list);
    list = made;
  };
}

TEST(OfiEndpoint, TakesTheAddressThatOtherHostsCanReach) {
  const Interface interfaces[] = {
      {{"fe80::1", "198.51.100.1"}, "198.51.100.1"},
      {{"127.0.0.1", "198.51.100.1"}, "198.51.100.1"},
      {{"2001:db8::1", "198.51.100.1"}, "198.51.100.1"},
      {{"198.51.100.1", "198.51.100.2", "2001:db8::1"}, "198.51.100.1"},
      {{"fe80::1", "2001:db8::1"}, "2001:db8::1"},
      {{"::1", "2001:db8::1"}, "2001:db8::1"},
      {{"127.0.0.1", "::1", "fe80::1"}, nullptr},
      {{"fe80::1"}, nullptr},
  };
  for (const Interface& interface : interfaces) {
    FabricFaults faults;
    offer(faults, interface.addresses);
    faults.fail(FabricCall::fabric, -FI_ENOMEM);  // nothing can be opened there
    const std::string text = error_of({.provider = "tcp;ofi_rxm"});
    if (interface.best != nullptr) {
      EXPECT_EQ(faults.opened, interface.best) << text;
    } else {
      EXPECT_EQ(faults.opened, "");
      EXPECT_NE(text.find("finds no address that other hosts can reach"), std::string::npos) << text;
    }
  }
}

TEST(OfiEndpoint, TakesTheFirstProviderWhateverAddressesOthersHave) {
  FabricFaults faults;
  offer(faults, {"2001:db8::1", "198.51.100.1"});
  const auto make = faults.edit_infos;
  faults.edit_infos = [make](fi_info*& list) {
    make(list);
    free(list->next->fabric_attr->prov_name);
    list->next->fabric_attr->prov_name = strdup("another");
  };
  faults.fail(FabricCall::fabric, -FI_ENOMEM);
  EXPECT_NE(error_of({.provider = "tcp;ofi_rxm"}), "");
  EXPECT_EQ(faults.opened, "2001:db8::1");
}

}  // namespace
}  // namespace shm::ofi
