// What a kernel leaves on the stack: vectors that did not fit its registers.
#pragma once

namespace slip::masks {

/// Overwrites the stack that a kernel called from the same function has used (MASK-6).
void wipe_used_stack();

}  // namespace slip::masks
