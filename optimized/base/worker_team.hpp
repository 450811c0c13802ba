// Threads that wait for work, for calls too short to start threads for.
#pragma once

#include <cstddef>
#include <memory>

namespace slip::base {

/// Workers who help whoever brings work. They help one caller at a time: another one who comes
/// meanwhile does all of his work himself, so that no more threads compute than there are callers
/// and workers. run() is thread-safe and reserves no memory.
class WorkerTeam {
public:
    /// `threads` work together, the caller's among them: one less is started.
    explicit WorkerTeam(std::size_t threads);
    WorkerTeam(const WorkerTeam&) = delete;
    WorkerTeam& operator=(const WorkerTeam&) = delete;
    ~WorkerTeam();

    std::size_t threads() const;

    /// Calls work(0), ..., work(count - 1), each once, and returns when all have returned. Calls do
    /// not depend on each other, write memory of their own, and do not throw.
    template <class Work>
    void run(std::size_t count, const Work& work) {
        run_task({[](const void* w, std::size_t i) { (*static_cast<const Work*>(w))(i); }, &work,
                  count});
    }

private:
    struct Task {
        void (*call)(const void* work, std::size_t i) = nullptr;
        const void* work = nullptr;
        std::size_t count = 0;
    };
    struct State;
    void run_task(const Task& task);

    std::unique_ptr<State> state_;
};

}  // namespace slip::base
