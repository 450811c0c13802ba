// Ctrl-C at a terminal, for a program that goes on after it.
#pragma once

namespace slip::tool {

/// From now on Ctrl-C is noted, and does not end the program.
void catch_interrupts();

/// Whether Ctrl-C was pressed since it was last forgotten.
bool interrupted();
void forget_interrupts();

/// Returns when standard input can be read, or is at its end; false: when Ctrl-C was pressed.
bool wait_for_input();

}  // namespace slip::tool
