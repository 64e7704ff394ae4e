// SPDX-License-Identifier: BSD-3-Clause
// Options that people bring from other launchers (Open MPI's and MPICH's mpirun, srun): what each of them
// means here. Pure; thread safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace oshrun {

/// What an option of another launcher says in oshrun's own words.
struct Borrowed {
  std::vector<std::string> ours;  // an option of oshrun, and its value; empty: oshrun does so anyway
  std::string note;               // a line about what has no effect here, or empty
  std::string instead;            // what to do instead, if it cannot be taken; or empty
};

/// `name` as it was written, dashes included, and what followed it after '=', if anything did. `next_word`
/// gives the next word of the command line, or nothing at its end. Nothing: no other launcher has this
/// option.
std::optional<Borrowed> borrowed(const std::string& name, const std::optional<std::string>& given,
                                 const std::function<std::optional<std::string>()>& next_word);

/// "-N2" and "-wnode1" as "-N", "2" and "-w", "node1": an option of another launcher that has one letter, and
/// its value attached, as Slurm takes it. Nothing: there is no such option, or it takes no value.
struct Attached {
  std::string name, text;
};
std::optional<Attached> attached_value(std::string_view word);

/// The option among `known` and those of other launchers that `name` probably was meant to be, or nothing.
std::string option_meant(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace oshrun
