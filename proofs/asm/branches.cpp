// Counts every branch that the kernels of a running program execute, on whatever processor, with
// whatever instructions between the branches. Loaded into the program (LD_PRELOAD), it writes a
// breakpoint over each branch instruction that the file $SLIP_BRANCHES names; when one is reached,
// its handler counts it and does what the branch does. The code between branches runs as it stands.
// proofs/asm/branches.py writes the file, and derives from the counts how often each instruction
// ran.
//
// The counts are in memory that the file backs, and are added to atomically: threads may branch at
// one time, and a forked child counts on in the same file. Nothing is restored, so there is no
// moment at which another thread could pass a branch unseen.
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

// Whoever executes: the thread that the program began with, before and since it came to the first
// branch that `begins`, and all other threads.
enum Phase : unsigned { start, since, others, phases };

struct Branch {
    std::uint64_t offset;  // from where the program is loaded; in rising order
    std::uint32_t begins;
    std::uint32_t opcode;             // its first byte
    std::uint64_t counts[phases][2];  // not taken, taken
};
static_assert(sizeof(Branch) == 64);

Branch* branches;
std::uint64_t base;                   // where the program is loaded
std::uint64_t first;                  // the offset of the first branch
std::vector<std::uint32_t>* number;   // of the branch at first + i
std::vector<std::uint8_t>* original;  // the bytes of the program at first + i
std::atomic<bool> begun;
[[gnu::tls_model("initial-exec")]] thread_local bool initial_thread;

[[noreturn]] void give_up(const char* problem) {
    std::fprintf(stderr, "branches: %s\n", problem);
    _exit(70);
}

template <class T>
T read(const std::uint8_t* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

/// Whether the condition of a conditional jump, the lower half of its opcode, holds.
bool holds(unsigned condition, std::uint64_t flags) {
    const bool carry = (flags & 1) != 0;
    const bool parity = (flags & 4) != 0;
    const bool zero = (flags & 0x40) != 0;
    const bool sign = (flags & 0x80) != 0;
    const bool overflow = (flags & 0x800) != 0;
    const bool conditions[] = {overflow,
                               carry,
                               zero,
                               carry || zero,
                               sign,
                               parity,
                               sign != overflow,
                               zero || sign != overflow};
    return conditions[condition >> 1] != ((condition & 1) != 0);
}

/// Does what the branch `code` at `address` does; whether it was taken.
bool execute(const std::uint8_t* code, std::uint64_t address, greg_t* registers) {
    auto& next = reinterpret_cast<std::uint64_t&>(registers[REG_RIP]);
    auto& stack = reinterpret_cast<std::uint64_t&>(registers[REG_RSP]);
    const auto flags = static_cast<std::uint64_t>(registers[REG_EFL]);
    const auto jump = [&](std::uint64_t end, std::int64_t distance, bool taken) {
        next = end + (taken ? static_cast<std::uint64_t>(distance) : 0);
        return taken;
    };
    switch (code[0]) {
        case 0x0f:  // jcc rel32
            return jump(address + 6, read<std::int32_t>(code + 2), holds(code[1] & 15U, flags));
        case 0xeb:
            return jump(address + 2, read<std::int8_t>(code + 1), true);
        case 0xe9:
            return jump(address + 5, read<std::int32_t>(code + 1), true);
        case 0xe8:  // call rel32
            stack -= 8;
            *reinterpret_cast<std::uint64_t*>(stack) = address + 5;
            return jump(address + 5, read<std::int32_t>(code + 1), true);
        case 0xf3:  // repz ret
        case 0xc3:
            next = *reinterpret_cast<const std::uint64_t*>(stack);
            stack += 8;
            return true;
        default:  // jcc rel8
            return jump(address + 2, read<std::int8_t>(code + 1), holds(code[0] & 15U, flags));
    }
}

void on_breakpoint(int, siginfo_t*, void* context) {
    greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
    const std::uint64_t address = static_cast<std::uint64_t>(registers[REG_RIP]) - 1;
    const std::uint64_t at = address - base - first;
    if (at >= number->size() || (*number)[at] == 0) give_up("a breakpoint that is not its own");
    Branch& branch = branches[(*number)[at] - 1];
    if (initial_thread && branch.begins != 0) begun = true;
    const Phase phase = !initial_thread ? others : begun ? since : start;
    const bool taken = execute(original->data() + at, address, registers);
    std::atomic_ref(branch.counts[phase][taken]).fetch_add(1, std::memory_order_relaxed);
}

bool is_branch(const std::uint8_t* code) {
    return (code[0] & 0xf0U) == 0x70 || (code[0] == 0x0f && (code[1] & 0xf0U) == 0x80) ||
           code[0] == 0xeb || code[0] == 0xe9 || code[0] == 0xe8 || code[0] == 0xc3 ||
           (code[0] == 0xf3 && code[1] == 0xc3);
}

/// The branches of $SLIP_BRANCHES; how many.
std::size_t open_file() {
    const char* name = std::getenv("SLIP_BRANCHES");
    const int file = name == nullptr ? -1 : open(name, O_RDWR | O_CLOEXEC);
    struct stat status {};
    if (file < 0 || fstat(file, &status) != 0) give_up("cannot open the file $SLIP_BRANCHES");
    const auto bytes = static_cast<std::size_t>(status.st_size);
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED || bytes == 0) give_up("cannot map the file $SLIP_BRANCHES");
    branches = static_cast<Branch*>(memory);
    return bytes / sizeof(Branch);
}

/// Remembers the code from the first to the last branch, and writes the breakpoints.
void patch(std::size_t count) {
    first = branches[0].offset;
    const std::uint64_t length = branches[count - 1].offset - first + 16;
    auto* const code = reinterpret_cast<std::uint8_t*>(base + first);
    original = new std::vector<std::uint8_t>(code, code + length);
    number = new std::vector<std::uint32_t>(length);
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t begin = (base + first) / page * page;
    auto* const pages = reinterpret_cast<void*>(begin);
    const std::size_t bytes = base + first + length - begin;
    if (mprotect(pages, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
        give_up("this system does not let a program change its own code");
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t at = branches[i].offset - first;
        if (at >= length || code[at] != branches[i].opcode || !is_branch(code + at)) {
            give_up("no branch stands where the file $SLIP_BRANCHES says");
        }
        (*number)[at] = static_cast<std::uint32_t>(i) + 1;
        code[at] = 0xcc;
    }
    mprotect(pages, bytes, PROT_READ | PROT_EXEC);
}

[[gnu::constructor]] void count_branches() {
    initial_thread = true;
    dl_iterate_phdr(
        [](dl_phdr_info* program, std::size_t, void*) {
            base = program->dlpi_addr;
            return 1;  // the first is the program itself
        },
        nullptr);
    struct sigaction action {};
    action.sa_sigaction = on_breakpoint;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, nullptr);
    patch(open_file());
}

}  // namespace
