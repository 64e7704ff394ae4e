// SPDX-License-Identifier: BSD-3-Clause
#include "binding_plan.hpp"

#include <algorithm>

namespace oshrun {
namespace {

std::vector<int> cpus_of_range(const std::vector<Core>& cores, std::size_t first, std::size_t last) {
  std::vector<int> cpus;
  for (std::size_t i = first; i < last; ++i)
    cpus.insert(cpus.end(), cores[i].cpus.begin(), cores[i].cpus.end());
  std::sort(cpus.begin(), cpus.end());
  return cpus;
}

std::vector<int> cpus_of_numa(const std::vector<Core>& cores, int numa) {
  std::vector<Core> members;
  for (const Core& core : cores)
    if (core.numa == numa) members.push_back(core);
  return cpus_of_range(members, 0, members.size());
}

}  // namespace

bool needs_topology(Bind bind, int pes) { return bind != Bind::kNone && !(bind == Bind::kAuto && pes == 1); }

BindingPlan plan_binding(Bind bind, const Roster& roster, const std::vector<Core>& all_cores) {
  BindingPlan plan;
  const std::size_t count = all_cores.size();
  const auto pes = static_cast<std::size_t>(roster.pes);
  const std::string too_many = roster.count() + " are more than the " + std::to_string(count) +
                               (count == 1 ? " core" : " cores") + " this job may use";
  if (bind == Bind::kNone) plan.why_no_pe = "--bind none";
  if (bind == Bind::kAuto && pes == 1)
    plan.why_no_pe = "a single PE may use all processors (--bind core binds it)";
  if (plan.why_no_pe.empty() && pes > count) plan.why_no_pe = too_many;
  plan.why_no_server = plan.why_no_pe;
  if (!plan.why_no_pe.empty()) return plan;
  if (static_cast<std::size_t>(roster.size()) > count) plan.why_no_server = too_many;
  const std::size_t servers = plan.why_no_server.empty() ? static_cast<std::size_t>(roster.servers) : 0;
  // Neighbouring PEs belong on one NUMA node, whatever order the machine numbers its cores in.
  std::vector<Core> cores = all_cores;
  std::stable_sort(cores.begin(), cores.end(), [](const Core& a, const Core& b) { return a.numa < b.numa; });
  const std::size_t shared = count - servers;  // by the PEs
  for (std::size_t pe = 0; pe < pes; ++pe) {
    const std::size_t first = pe * shared / pes;
    const std::size_t last = (pe + 1) * shared / pes;
    if (bind == Bind::kCore) plan.cpus_of.push_back(cpus_of_range(cores, pe, pe + 1));
    if (bind == Bind::kNuma) plan.cpus_of.push_back(cpus_of_numa(cores, cores[first].numa));
    if (bind == Bind::kAuto) plan.cpus_of.push_back(cpus_of_range(cores, first, last));
  }
  for (std::size_t server = 0; server < servers; ++server) {
    const std::size_t core = (bind == Bind::kCore ? pes : shared) + server;
    plan.cpus_of.push_back(bind == Bind::kNuma ? cpus_of_numa(cores, cores[core].numa)
                                               : cpus_of_range(cores, core, core + 1));
  }
  return plan;
}

std::string cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i;
    while (end + 1 < cpus.size() && cpus[end + 1] == cpus[end] + 1) ++end;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (end > i) text += '-' + std::to_string(cpus[end]);
    i = end + 1;
  }
  return text;
}

}  // namespace oshrun
