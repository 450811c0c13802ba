// A program whose branches are known: `counted` (n) executes its loop n times, and `outer` calls it
// through a jump. Two threads at one time and a forked child run it as well as the initial thread.
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

extern "C" void counted(unsigned long n);
extern "C" void outer(unsigned long n);
asm(R"(
    .text
    .type counted, @function
counted:
    xor %eax, %eax
1:  add $1, %rax
    cmp %rdi, %rax
    jb 1b
    test $1, %dil
    jz 2f
    nop
2:  ret
    .size counted, . - counted
    .type outer, @function
outer:
    push %rdi
    call counted
    pop %rdi
    jmp counted
    .size outer, . - outer
)");

int main() {
    counted(1000);
    outer(301);
    std::thread one([] {
        for (int i = 0; i < 50; ++i) counted(400);
    });
    std::thread two([] {
        for (int i = 0; i < 50; ++i) outer(7);
    });
    one.join();
    two.join();
    const pid_t child = fork();
    if (child == 0) {
        counted(11);
        _exit(0);
    }
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
