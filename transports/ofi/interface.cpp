// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/interface.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace shm::ofi {
namespace {

constexpr int kLoopbackRank = 2;

// How useful a source address is to peers on other hosts; smaller is better.  Providers list an interface's
// addresses in the kernel's order, which may begin with one that cannot be connected to from elsewhere.
int address_rank(const fi_info& info) {
  if (info.src_addr == nullptr) return 0;
  if (info.addr_format == FI_SOCKADDR_IN) {
    const auto& address = *static_cast<const sockaddr_in*>(info.src_addr);
    return (ntohl(address.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET ? kLoopbackRank : 0;
  }
  if (info.addr_format == FI_SOCKADDR_IN6) {
    const auto& address = *static_cast<const sockaddr_in6*>(info.src_addr);
    return IN6_IS_ADDR_LINKLOCAL(&address.sin6_addr) || IN6_IS_ADDR_LOOPBACK(&address.sin6_addr)
               ? kLoopbackRank + 1
               : 1;
  }
  return 0;  // not IP: the provider knows best
}

// "10.0.0.2"; empty: it is not IP.
std::string text_of(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address != nullptr && address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, text, sizeof text);
  } else if (address != nullptr && address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, text, sizeof text);
  }
  return text;
}

std::string address_of(const fi_info& info) {
  const bool ip = info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6;
  return ip ? text_of(static_cast<const sockaddr*>(info.src_addr)) : "";
}

std::string domain_of(const fi_info& info) {
  return info.domain_attr != nullptr && info.domain_attr->name != nullptr ? info.domain_attr->name : "";
}

struct Address {
  std::string interface, text;
};

std::vector<Address> addresses_here() {
  std::vector<Address> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (std::string text = text_of(entry->ifa_addr); !text.empty())
      found.push_back({entry->ifa_name, std::move(text)});
  }
  freeifaddrs(list);
  return found;
}

// Whether `interface` names the entry's address.
bool is_on(const fi_info& info, const std::string& interface, const std::vector<Address>& here) {
  const std::string address = address_of(info);
  if (address.empty()) return domain_of(info) == interface;
  return address == interface || std::ranges::any_of(here, [&](const Address& one) {
           return one.interface == interface && one.text == address;
         });
}

}  // namespace

const fi_info* best_address(const fi_info* list, const std::string& interface) {
  const std::vector<Address> here = interface.empty() ? std::vector<Address>() : addresses_here();
  const fi_info* best = nullptr;
  for (const fi_info* entry = list; entry != nullptr; entry = entry->next) {
    if (std::strcmp(entry->fabric_attr->prov_name, list->fabric_attr->prov_name) != 0) continue;
    if (!interface.empty() && !is_on(*entry, interface, here)) continue;
    if (best == nullptr || address_rank(*entry) < address_rank(*best)) best = entry;
  }
  return best;
}

std::string addresses_in(const fi_info* list) {
  const std::vector<Address> here = addresses_here();
  std::vector<std::string> names;
  for (const fi_info* entry = list; entry != nullptr; entry = entry->next) {
    const std::string address = address_of(*entry);
    const auto interface = std::ranges::find(here, address, &Address::text);
    std::string name = address.empty() ? domain_of(*entry) : address;
    if (interface != here.end()) name = interface->interface + " (" + address + ")";
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

bool is_for_this_host_alone(const fi_info& info) { return address_rank(info) >= kLoopbackRank; }

}  // namespace shm::ofi
