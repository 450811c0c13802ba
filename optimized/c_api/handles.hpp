// Handles, and what is behind them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>

#include "optimized/c_api/guarded.hpp"
#include "slip/david.hpp"
#include "slip/image_classifier.hpp"
#include "slip/language_model.hpp"
#include "slip/scheduler.hpp"
#include "slip/sequence.hpp"
#include "slip/text_stream.hpp"
#include "slip/tls.hpp"

namespace slip::c_api {

/// One count for the handles of all types, so that none is taken for one of another type.
std::uintptr_t new_number();

/// Objects by numbers that are never used again.
template <class Handle, class Object>
class Handles {
public:
    /// Never destroyed: other threads may still be in calls when the process ends.
    static Handles& all() {
        static Handles& handles = *new Handles;
        return handles;
    }
    Handle* add(std::shared_ptr<Object> object) {
        const std::lock_guard lock(mutex_);
        const std::uintptr_t number = new_number();
        objects_.emplace(number, std::move(object));
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number that nobody follows
        return reinterpret_cast<Handle*>(number);
    }
    std::shared_ptr<Object> find(const Handle* handle) {
        const std::lock_guard lock(mutex_);
        return at(handle)->second;
    }
    std::shared_ptr<Object> remove(const Handle* handle) {
        const std::lock_guard lock(mutex_);
        const auto found = at(handle);
        auto object = std::move(found->second);
        objects_.erase(found);
        return object;
    }

private:
    using Objects = std::map<std::uintptr_t, std::shared_ptr<Object>>;
    typename Objects::iterator at(const Handle* handle) {
        const auto found = objects_.find(reinterpret_cast<std::uintptr_t>(handle));
        if (found != objects_.end()) return found;
        throw StatusError(SLIP_INVALID_HANDLE, handle == nullptr
                                                   ? "the handle is NULL"
                                                   : "the handle was freed, or is of another type");
    }

    std::mutex mutex_;
    Objects objects_;
};

/// Held while a call computes with a model.
class InUse {
public:
    explicit InUse(std::atomic_flag& busy) : busy_(busy) {
        if (busy_.test_and_set()) {
            throw StatusError(SLIP_BUSY, "the model is in use by another call");
        }
    }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
    ~InUse() { busy_.clear(); }

private:
    std::atomic_flag& busy_;
};

struct HeldImageClassifier {
    explicit HeldImageClassifier(ImageClassifier m) : model(std::move(m)) {}
    ImageClassifier model;
    std::atomic_flag busy;
};

/// A Scheduler that is destroyed by whoever frees its handle, after the calls that are under way.
class HeldScheduler {
public:
    HeldScheduler(LanguageModel model, const SchedulerOptions& options)
        : scheduler_(std::make_unique<Scheduler>(std::move(model), options)) {}

    /// call(scheduler) in any number of threads. StatusError if it was freed.
    template <class Call>
    decltype(auto) use(const Call& call) {
        const Visit visit(*this);
        return call(*scheduler_);
    }
    /// Cancels what it runs, and ends it.
    void free();

    /// Around each of its callbacks.
    class Callback {
    public:
        explicit Callback(const HeldScheduler& scheduler) { current() = &scheduler; }
        Callback(const Callback&) = delete;
        Callback& operator=(const Callback&) = delete;
        ~Callback() { current() = nullptr; }
        /// The scheduler in whose callback this thread is; null if in none's.
        static const HeldScheduler*& current();
    };
    /// StatusError SLIP_BUSY in a callback of its own, whose thread the caller would wait for.
    void require_outside() const;

private:
    class Visit {
    public:
        explicit Visit(HeldScheduler& held);
        Visit(const Visit&) = delete;
        Visit& operator=(const Visit&) = delete;
        ~Visit();

    private:
        HeldScheduler& held_;
    };

    std::mutex mutex_;  // guards the next three
    std::condition_variable left_;
    std::size_t visits_ = 0;
    bool freed_ = false;
    std::unique_ptr<Scheduler> scheduler_;
};

/// A language model that computes for one call at a time, or runs in a scheduler.
class HeldLanguageModel {
public:
    explicit HeldLanguageModel(LanguageModel model) : model_(std::move(model)) {}

    /// call(model) with a const model: in any number of threads, also while it computes.
    template <class Call>
    decltype(auto) read(const Call& call) {
        const std::shared_lock lock(place_);
        if (model_) return call(std::as_const(*model_));
        if (!scheduler_) throw StatusError(SLIP_INVALID_HANDLE, "its scheduler could not begin");
        return scheduler_->use(
            [&](const Scheduler& running) -> decltype(auto) { return call(running.model()); });
    }
    /// call(model). StatusError SLIP_BUSY while another call computes, and in a scheduler.
    template <class Call>
    decltype(auto) compute(const Call& call) {
        const InUse in_use(busy_);
        if (!model_) throw StatusError(SLIP_BUSY, "the model runs in a scheduler");
        return call(*model_);
    }
    /// Gives it away, for good. StatusError SLIP_BUSY while it computes, or something depends on
    /// it.
    std::shared_ptr<HeldScheduler> run_in_scheduler(const SchedulerOptions& options);

    /// Kept by what refers to the model.
    class Dependent {
    public:
        explicit Dependent(std::shared_ptr<HeldLanguageModel> held) : held_(std::move(held)) {
            ++held_->dependents_;
        }
        Dependent(const Dependent&) = delete;
        Dependent& operator=(const Dependent&) = delete;
        ~Dependent() { --held_->dependents_; }
        HeldLanguageModel& operator*() const { return *held_; }
        HeldLanguageModel* operator->() const { return held_.get(); }

    private:
        const std::shared_ptr<HeldLanguageModel> held_;
    };

private:
    std::shared_mutex place_;  // guards the next two, which change once
    std::optional<LanguageModel> model_;
    std::shared_ptr<HeldScheduler> scheduler_;  // that the model has moved to
    std::atomic<std::size_t> dependents_{0};
    std::atomic_flag busy_;
};

/// Generations that go on where the last one ended.
struct HeldSequence {
    HeldSequence(const std::shared_ptr<HeldLanguageModel>& held, LanguageModel& m)
        : model(held), sequence(m) {}
    const HeldLanguageModel::Dependent model;
    Sequence sequence;
};

/// The text of one generation, and what was completed last.
struct HeldTextStream {
    HeldTextStream(const std::shared_ptr<HeldLanguageModel>& held, TextStream s)
        : model(held), stream(std::move(s)) {}
    const HeldLanguageModel::Dependent model;
    std::mutex mutex;  // guards the next two
    TextStream stream;
    std::string text;
};

struct HeldDavid {
    David david;
    DavidOptions options;  // of his servers
};

using LanguageModels = Handles<slip_language_model, HeldLanguageModel>;
using ImageClassifiers = Handles<slip_image_classifier, HeldImageClassifier>;
using Sequences = Handles<slip_sequence, HeldSequence>;
using TextStreams = Handles<slip_text_stream, HeldTextStream>;
using Schedulers = Handles<slip_scheduler, HeldScheduler>;
using Davids = Handles<slip_david, HeldDavid>;

}  // namespace slip::c_api
