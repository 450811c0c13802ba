// The commands of `slip`, one file each of the same name; support/ has what they share. A command
// gets the arguments after its name and returns the exit status; main.cpp turns what it throws into
// a sentence and a status (CONV-4).
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace slip::tool {

using Arguments = std::vector<std::string>;

int check(const Arguments& arguments);
int plan(const Arguments& arguments);
int split(const Arguments& arguments);
int keys(const Arguments& arguments);
int david(const Arguments& arguments);
int generate(const Arguments& arguments);
int chat(const Arguments& arguments);
int serve(const Arguments& arguments);
int forward(const Arguments& arguments);
int eval(const Arguments& arguments);
int inspect(const Arguments& arguments);

/// The path of the program slip-NAME in this program's folder, if there is one.
std::optional<std::string> program_beside(const std::string& name);

/// Runs the program slip-NAME that stands beside this one, in its place. Throws BadInput if there
/// is none.
int run_beside(const std::string& name, const Arguments& arguments);

}  // namespace slip::tool
