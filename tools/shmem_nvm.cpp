// SPDX-License-Identifier: BSD-3-Clause
// shmem_nvm: lists, checks and removes the named objects that jobs have left in a folder (shmemx_nvm_open).
//
// Needs no launcher and starts no job.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <map>
#include <string>
#include <vector>

#include "base/human.hpp"
#include "nvm/storage/store_check.hpp"
#include "nvm/storage/store_files.hpp"

namespace {

using shm::nvm::Found;
using shm::nvm::PartFile;
using shm::nvm::Slots;
using Parts = std::vector<PartFile>;

enum Exit { kGood = 0, kDefects = 1, kUsage = 2 };

constexpr char kUsageText[] =
    "usage: shmem_nvm list <folder>\n"
    "       shmem_nvm check [--some] <folder> [<name>]\n"
    "       shmem_nvm remove <folder> <name>\n"
    "Looks after the named objects that jobs have left in a folder, in files <name>.pe<P>.atoll.\n"
    "  list     one line for each object\n"
    "  check    reads everything and verifies all checksums, that the files of all PEs are there, and that "
    "they\n"
    "           have an epoch in common; one line for each defect.  --some: the folder has the files of one\n"
    "           node only, so some may be missing\n"
    "  remove   removes all files of the object, or none if a job is using one\n"
    "Exit code: 0 if all is well, 1 if there are defects or something has failed, 2 for wrong arguments.\n";

Exit fail(const std::string& text) {
  std::fprintf(stderr, "shmem_nvm: %s\n", text.c_str());
  return kDefects;
}

Exit wrong_arguments() {
  std::fputs(kUsageText, stderr);
  return kUsage;
}

std::string date(std::int64_t seconds) {
  const std::time_t at = seconds;
  std::tm local{};
  char text[32] = "?";
  if (localtime_r(&at, &local) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

// Object by object; `name` empty: all.
shm::Result<std::map<std::string, Parts>> objects_in(const std::string& folder, const std::string& name) {
  auto parts = shm::nvm::find_parts(folder);
  if (!parts.ok()) return parts.status();
  std::map<std::string, Parts> objects;
  for (const PartFile& part : parts.value()) {
    if (name.empty() || part.name == name) objects[part.name].push_back(part);
  }
  if (objects.empty() && !name.empty())
    return shm::Status::error("there is no NVM object '" + name + "' in " + folder + " (shmem_nvm list)");
  return objects;
}

void print_row(const std::string& name, const std::string& bytes, const std::string& files,
               const std::string& occupied, const std::string& epoch, const std::string& written) {
  std::printf("%-24s %14s %12s %12s %8s  %s\n", name.c_str(), bytes.c_str(), files.c_str(), occupied.c_str(),
              epoch.c_str(), written.c_str());
}

// One object's row; false: something is wrong with it.
bool list_object(const std::string& name, const Parts& parts) {
  std::vector<Found> found;
  Slots slots;
  double occupied = 0;
  std::string why;
  for (const PartFile& part : parts) {
    struct stat file {};
    if (stat(part.path.c_str(), &file) == 0) occupied += 512.0 * static_cast<double>(file.st_blocks);
    auto read = shm::nvm::slots_of(part.path);
    std::string wrong = read.ok() ? shm::nvm::unusable(read.value()) : read.status().text();
    if (read.ok() && !wrong.empty()) wrong = part.path + ": " + wrong;
    if (why.empty()) why = wrong;
    if (!wrong.empty()) continue;
    slots = read.value();
    Found here{.pe = part.pe, .id = slots.any().id};
    for (const std::uint64_t epoch : slots.epochs()) here.epochs[here.count++] = epoch;
    found.push_back(here);
  }
  std::uint64_t epoch = 0;
  if (!found.empty()) {
    auto plan = shm::nvm::agree(name, found);
    if (why.empty()) why = plan.status().text();
    epoch = plan.value().epoch;
  }
  if (!why.empty()) {
    print_row(name, "?", std::to_string(parts.size()), shm::human_bytes(occupied), "?",
              "see shmem_nvm check");
    fail(why);
    return false;
  }
  const shm::nvm::Identity object = shm::nvm::identity_of(slots.any());
  print_row(name, shm::human_bytes(object.bytes),
            std::to_string(parts.size()) + " of " + std::to_string(object.npes), shm::human_bytes(occupied),
            std::to_string(epoch),
            epoch == 0 ? "never" : date(slots.header[std::max(0, slots.slot_of(epoch))].written));
  return true;
}

Exit list(const std::string& folder) {
  auto objects = objects_in(folder, "");
  if (!objects.ok()) return fail(objects.status().text());
  if (objects.value().empty()) {
    std::printf("no NVM objects in %s\n", folder.c_str());
    return kGood;
  }
  print_row("object", "bytes of a PE", "files", "on disk", "epoch", "persisted");
  bool good = true;
  for (const auto& [name, parts] : objects.value()) good &= list_object(name, parts);
  return good ? kGood : kDefects;
}

Exit check(const std::string& folder, const std::string& name, bool all_here) {
  auto objects = objects_in(folder, name);
  if (!objects.ok()) return fail(objects.status().text());
  if (objects.value().empty()) std::printf("no NVM objects in %s\n", folder.c_str());
  bool good = true;
  for (const auto& [object, parts] : objects.value()) {
    const shm::nvm::Defects defects = shm::nvm::check_object(parts, all_here);
    for (const std::string& defect : defects) std::printf("%s\n", defect.c_str());
    if (defects.empty()) std::printf("%s: whole (files: %zu)\n", object.c_str(), parts.size());
    good &= defects.empty();
  }
  return good ? kGood : kDefects;
}

Exit remove(const std::string& folder, const std::string& name) {
  const shm::nvm::Removal removal = shm::nvm::remove_object(folder, name);
  for (const std::string& path : removal.removed) std::printf("removed %s\n", path.c_str());
  return removal.status.ok() ? kGood : fail(removal.status.text());
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && (words[0] == "-h" || words[0] == "--help")) {
    std::fputs(kUsageText, stdout);
    return kGood;
  }
  const bool some = std::erase(words, "--some") > 0;
  if (words.size() < 2 || (some && words[0] != "check")) return wrong_arguments();
  for (const std::string& word : words) {
    if (word.empty() || word[0] == '-') return wrong_arguments();
  }
  if (words[0] == "list" && words.size() == 2) return list(words[1]);
  if (words[0] == "check" && words.size() <= 3)
    return check(words[1], words.size() == 3 ? words[2] : "", !some);
  if (words[0] == "remove" && words.size() == 3) return remove(words[1], words[2]);
  return wrong_arguments();
}
