// gpu_products --shape tinyllama [--repetitions R]
//
// Times David's product (LIN-1) on the machine's GPU, interleaved, as medians, for every group of a
// model and for 1 to 512 columns: with 4 and 5 planes; the hidden one, by W_t = [A ; U] (HIDE-1);
// the same kernels on one plane, which is an int8 product in the open; and the whole of a product
// with 5 planes and of a hidden one, from the processor's memory to the processor's memory.
// of_unprotected is over the time of the product in the open, which counts kernels alone;
// of_factor is that over h (1 + ell/M). Prints one JSON object.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "experiments/bench/medians.hpp"
#include "experiments/measure/program.hpp"
#include "experiments/measure/shapes.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/parallel.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/worker_team.hpp"
#include "optimized/gpu/gpu.hpp"
#include "optimized/gpu/memory.hpp"
#include "optimized/gpu/products.hpp"

namespace slip::gpu {

namespace {

using bench::median;
using bench::seconds_of;
using nlohmann::ordered_json;

constexpr std::size_t column_counts[] = {1, 8, 32, 128, 512};
const base::parameters::ParameterSet& hidden_set = *base::parameters::set_named("hidden");
/// So many bytes of weights are read in turn that no cache has what comes next.
constexpr std::size_t rotated_bytes = std::size_t{1} << 29;

struct Group {
    const char* name;
    std::size_t rows, cols;
};

/// The groups of a model of LLaMA's family, as David multiplies them (LIN-3).
std::vector<Group> groups_of(const measure::Shape& shape) {
    return {{"qkv", shape.hidden + 2 * shape.key_value_width(), shape.hidden},
            {"o", shape.hidden, shape.hidden},
            {"gate_up", 2 * shape.intermediate, shape.hidden},
            {"down", shape.hidden, shape.intermediate},
            {"lm_head", shape.vocabulary, shape.hidden}};
}

/// What only measurements call.
struct TimingCalls {
    explicit TimingCalls(const Library& of) : library(of) {}
    const Library& library;
    const Call<void**, unsigned> event_create{library, "cuEventCreate"};
    const Call<void*, Stream> event_record{library, "cuEventRecord"};
    const Call<void*> event_synchronize{library, "cuEventSynchronize"};
    const Call<float*, void*, void*> event_elapsed{library, "cuEventElapsedTime"};
    const Call<Address, Address, std::size_t, Stream> copy_in{library, "cuMemcpyDtoDAsync_v2"};
    const Call<Stream, int> begin_capture{library, "cuStreamBeginCapture_v2"};
    const Call<Stream, void**> end_capture{library, "cuStreamEndCapture"};
    const Call<void**, void*, unsigned long long> instantiate{library,
                                                              "cuGraphInstantiateWithFlags"};
    const Call<void*, Stream> launch_graph{library, "cuGraphLaunch"};
    const Call<void*> destroy_graph{library, "cuGraphExecDestroy"};
};

/// Times kernels on what already lies in the GPU's memory, which Gpu does not offer.
class Bench {
public:
    Bench()
        : driver_(driver_library),
          timing_(driver_.library),
          device_(first_device()),
          context_(driver_, retained()),
          kernels_(driver_, products_ptx, multiprocessors()),
          weights_(driver_, rotated_bytes + most_weight_bytes),
          x_(driver_, most_vector_bytes),
          y_(driver_, most_vector_bytes),
          partial_(driver_, most_vector_bytes) {
        constexpr unsigned non_blocking = 1;
        driver_.stream_create(&stream_, non_blocking);
        timing_.event_create(&begin_, 0);
        timing_.event_create(&end_, 0);
        fill(weights_.address(), rotated_bytes + most_weight_bytes, 255);
        fill(x_.address(), most_vector_bytes, 222);  // canonical in every plane
    }

    std::string name() const {
        char name[256] = {};
        driver_.device_get_name(name, 255, device_);
        return name;
    }

    /// Bytes per second, read and written, of a copy within the GPU's memory.
    double copied_per_second() const {
        constexpr std::size_t bytes = rotated_bytes / 2;
        const auto copy = [&] {
            timing_.copy_in(weights_.address(), weights_.address() + bytes, bytes, stream_);
        };
        seconds(copy);
        std::vector<double> all;
        for (int i = 0; i < 9; ++i) all.push_back(seconds(copy));
        return 2.0 * static_cast<double>(bytes) / median(all);
    }

    /// Products as a graph of launches, one after the other, each with other weights: by one matrix
    /// for all `planes` planes or, of the hidden split, by one per plane.
    class Launches {
    public:
        Launches(const Bench& bench, const Group& group, std::size_t columns, std::size_t planes)
            : bench_(bench) {
            Work work = work_of(group, 0);
            work.matrices = 1;
            work.vectors = static_cast<unsigned>(columns * planes);
            work.planes = static_cast<unsigned>(planes);
            capture(work);
        }
        Launches(const Bench& bench, const Group& group, std::size_t columns) : bench_(bench) {
            Work work = work_of(group, hidden_set.public_rows());
            work.matrices = static_cast<unsigned>(hidden_set.planes);
            work.vectors = static_cast<unsigned>(columns);
            work.planes = 1;
            capture(work);
        }
        Launches(const Launches&) = delete;
        Launches& operator=(const Launches&) = delete;
        ~Launches() { bench_.timing_.destroy_graph.ignoring_failure(graph_); }

        /// Seconds per product.
        double seconds() const {
            return bench_.seconds([&] { bench_.timing_.launch_graph(graph_, bench_.stream_); }) /
                   static_cast<double>(products_);
        }

    private:
        static Work work_of(const Group& group, std::size_t rows_below) {
            Work work{};
            work.rows_above = static_cast<unsigned>(padded(group.rows, row_tile));
            work.rows = work.rows_above + static_cast<unsigned>(padded(rows_below, row_tile));
            work.stride = static_cast<unsigned>(padded(group.cols, step));
            work.primes = packed_primes();
            return work;
        }

        void capture(Work work) {
            bench_.kernels_.divide(work);
            work.x = bench_.x_.address();
            work.y = bench_.y_.address();
            work.partial = work.splits == 1 ? work.y : bench_.partial_.address();
            const std::size_t above = std::size_t{work.matrices} * work.rows_above * work.stride;
            const std::size_t bytes = std::size_t{work.matrices} * work.rows * work.stride;
            products_ = std::max<std::size_t>(1, rotated_bytes / bytes);
            bench_.timing_.begin_capture(bench_.stream_, 0);
            for (std::size_t i = 0; i < products_; ++i) {
                work.w = bench_.weights_.address() + i * bytes;
                work.below = work.w + above;
                bench_.kernels_.multiply(work, bench_.stream_);
            }
            void* graph = nullptr;
            bench_.timing_.end_capture(bench_.stream_, &graph);
            bench_.timing_.instantiate(&graph_, graph, 0);
        }

        const Bench& bench_;
        void* graph_ = nullptr;
        std::size_t products_ = 0;
    };

private:
    static constexpr std::size_t most_weight_bytes = std::size_t{1} << 30;
    static constexpr std::size_t most_vector_bytes = std::size_t{1} << 28;

    Device first_device() const {
        Device device = 0;
        driver_.device_get(&device, 0);
        return device;
    }
    Context retained() const {
        Context context = nullptr;
        driver_.context_retain(&context, device_);
        return context;
    }
    unsigned multiprocessors() const {
        int count = 0;
        driver_.device_get_attribute(&count, Attribute::multiprocessors, device_);
        return static_cast<unsigned>(count);
    }

    /// Random bytes up to `largest`.
    void fill(Address to, std::size_t bytes, unsigned largest) const {
        std::mt19937_64 random(1);
        std::vector<std::uint8_t> part(std::size_t{1} << 24);
        for (std::uint8_t& byte : part) {
            byte = static_cast<std::uint8_t>(random() % (largest + 1));
            if (largest == 255 && byte == 128) byte = 127;  // -128 is no weight
        }
        for (std::size_t at = 0; at < bytes; at += part.size()) {
            driver_.copy_to_gpu(to + at, part.data(), std::min(part.size(), bytes - at));
        }
        driver_.context_synchronize();
    }

    /// The time of what `enqueue` adds to the stream, by the GPU's clock.
    template <class Enqueue>
    double seconds(const Enqueue& enqueue) const {
        timing_.event_record(begin_, stream_);
        enqueue();
        timing_.event_record(end_, stream_);
        timing_.event_synchronize(end_);
        float milliseconds = 0;
        timing_.event_elapsed(&milliseconds, begin_, end_);
        return static_cast<double>(milliseconds) * 1e-3;
    }

    const Driver driver_;
    const TimingCalls timing_;
    const Device device_;
    const InContext context_;
    const Products kernels_;
    const DeviceMemory weights_, x_, y_, partial_;
    Stream stream_ = nullptr;
    void *begin_ = nullptr, *end_ = nullptr;
};

/// A product from the processor's memory to the processor's memory, as David calls for it.
class WholeProduct {
public:
    WholeProduct(Gpu& gpu, base::WorkerTeam& team, const Group& group, std::size_t columns,
                 std::size_t planes)
        : WholeProduct(team, group, group.rows, columns, planes) {
        const std::vector<std::int8_t> weights(group.rows * group.cols, 1);
        held_ = gpu.hold({weights.data(), group.rows, group.cols});
    }
    /// Hidden.
    WholeProduct(Gpu& gpu, base::WorkerTeam& team, const Group& group, std::size_t columns)
        : WholeProduct(team, group, group.rows + hidden_set.public_rows(), columns,
                       hidden_set.planes) {
        const std::vector<std::int8_t> weights(
            std::max(group.rows, hidden_set.public_rows()) * group.cols, 1);
        const auto planes_of = [&](std::size_t rows) {
            return std::vector<kernels::WeightMatrix>(
                hidden_set.planes, kernels::WeightMatrix(weights.data(), rows, group.cols));
        };
        const auto below = planes_of(hidden_set.public_rows());
        held_ = gpu.hold(kernels::PlanarMatrix(planes_of(group.rows)),
                         gpu.hold_rows({below.begin(), below.end()}));
    }

    double seconds() {
        return seconds_of([&] { held_->multiply(x_, y_, planes_, &team_); });
    }

private:
    WholeProduct(base::WorkerTeam& team, const Group& group, std::size_t rows, std::size_t columns,
                 std::size_t planes)
        : team_(team),
          planes_(planes),
          x_(columns * planes * group.cols, 7),
          y_(columns * planes * rows) {}

    base::WorkerTeam& team_;
    std::size_t planes_;
    std::unique_ptr<const kernels::DeviceMatrix> held_;
    std::vector<std::uint8_t> x_, y_;
};

double microseconds(double seconds) { return std::round(seconds * 1e8) / 100; }
double rounded(double ratio) { return std::round(ratio * 1000) / 1000; }

/// The medians of one group and number of columns, and the ratios' medians over the repetitions.
ordered_json measure(const Bench& bench, Gpu& gpu, base::WorkerTeam& team, const Group& group,
                     std::size_t columns, std::size_t repetitions) {
    const Bench::Launches open(bench, group, columns, 1);
    const Bench::Launches four(bench, group, columns, 4);
    const Bench::Launches five(bench, group, columns, 5);
    const Bench::Launches hidden(bench, group, columns);
    WholeProduct whole_five(gpu, team, group, columns, 5);
    WholeProduct whole_hidden(gpu, team, group, columns);
    const char* const names[] = {"unprotected", "planes_4", "planes_5",
                                 "hidden",      "whole_5",  "whole_hidden"};
    std::map<std::string, std::vector<double>> seconds, ratios;
    for (std::size_t i = 0; i < repetitions + 1; ++i) {
        const double all[] = {open.seconds(),   four.seconds(),       five.seconds(),
                              hidden.seconds(), whole_five.seconds(), whole_hidden.seconds()};
        if (i == 0) continue;  // warms up
        for (std::size_t c = 0; c < std::size(names); ++c) {
            seconds[names[c]].push_back(all[c]);
            ratios[names[c]].push_back(all[c] / all[0]);
        }
    }
    ordered_json of{
        {"group", group.name}, {"rows", group.rows}, {"cols", group.cols}, {"columns", columns}};
    for (const char* const name : names) {
        of[name] = {{"us", microseconds(median(seconds[name]))},
                    {"of_unprotected", rounded(median(ratios[name]))}};
    }
    const auto rows = static_cast<double>(group.rows), cols = static_cast<double>(group.cols);
    const auto planes = static_cast<double>(hidden_set.planes);
    const double hidden_rows = rows + static_cast<double>(hidden_set.public_rows());
    of["hidden"]["of_factor"] = rounded(median(ratios["hidden"]) * rows / (planes * hidden_rows));
    of["weight_gb_per_s_5"] = std::round(rows * cols / median(seconds["planes_5"]) * 1e-9);
    of["weight_gb_per_s_hidden"] =
        std::round(planes * hidden_rows * cols / median(seconds["hidden"]) * 1e-9);
    return of;
}

ordered_json measure_products(const measure::Flags& flags) {
    const std::string shape = flags.text("shape");
    const std::uint64_t repetitions = flags.number("repetitions", 1);
    const std::vector<Group> groups = groups_of(measure::shape_named(shape));
    const auto gpu = Gpu::open();
    const Bench bench;
    base::WorkerTeam team(base::available_threads());
    ordered_json products = ordered_json::array();
    for (const Group& group : groups) {
        for (const std::size_t columns : column_counts) {
            products.push_back(measure(bench, *gpu, team, group, columns, repetitions));
        }
    }
    return {{"experiment", "gpu-products"},
            {"model", {{"name", shape}}},
            {"settings", {{"gpu", bench.name()}, {"repetitions", repetitions}}},
            {"seed", nullptr},
            {"result",
             {{"copy_gb_per_s", std::round(bench.copied_per_second() * 1e-9)},
              {"products", products}}}};
}

}  // namespace
}  // namespace slip::gpu

int main(int argc, char** argv) {
    return slip::measure::run({"gpu_products",
                               "--shape NAME [--repetitions R]\n\n"
                               "Prints the times of David's products on a GPU as one JSON object.",
                               {{"shape", "NAME", "small, tinyllama, llama2-7b or llama2-70b"},
                                {"repetitions", "R", "of which the medians are", "15"}},
                               slip::gpu::measure_products},
                              argc, argv);
}
