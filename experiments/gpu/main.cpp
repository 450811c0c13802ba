// gpu_products --shape tinyllama [--repetitions R]
//
// Times David's product (LIN-1) on the machine's GPU, interleaved, as medians, for every group of a
// model and for 1 to 512 columns: with 4 and 5 planes; the same kernels on one plane, which is an
// int8 product in the open; six planes that each have a matrix of unsigned bytes of their own; and
// the whole of a product with 4 and 5 planes, from the processor's memory to the processor's
// memory. of_unprotected is over the time of the product in the open, which counts kernels alone.
// Prints one JSON object.
#include <algorithm>
#include <boost/program_options.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "experiments/bench/measure.hpp"
#include "experiments/synthetic/shapes.hpp"
#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/gpu/gpu.hpp"
#include "optimized/gpu/memory.hpp"
#include "optimized/gpu/products.hpp"

namespace slip::gpu {

extern const char* const unsigned_products_ptx;

namespace {

using bench::median;
using bench::seconds_of;
using nlohmann::ordered_json;
namespace po = boost::program_options;

constexpr std::size_t column_counts[] = {1, 8, 32, 128, 512};
constexpr std::size_t hidden_planes = 6;
/// So many bytes of weights are read in turn that no cache has what comes next.
constexpr std::size_t rotated_bytes = std::size_t{1} << 29;

struct Group {
    const char* name;
    std::size_t rows, cols;
};

/// Of a model of LLaMA's family, as David multiplies them (LIN-3).
std::vector<Group> groups_of(const synthetic::Shape& shape) {
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
          signed_(driver_, products_ptx, multiprocessors()),
          unsigned_(driver_, unsigned_products_ptx, multiprocessors()),
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

    /// A product as a graph of launches, one after the other, each with other weights: `matrices`
    /// per product, one for all planes or one per plane.
    class Launches {
    public:
        Launches(const Bench& bench, const Group& group, std::size_t columns, std::size_t planes,
                 bool is_matrix_per_plane)
            : bench_(bench) {
            Work work{};
            work.rows = static_cast<unsigned>(padded(group.rows, row_tile));
            work.stride = static_cast<unsigned>(padded(group.cols, step));
            work.planes = static_cast<unsigned>(is_matrix_per_plane ? 1 : planes);
            work.vectors = static_cast<unsigned>(columns * work.planes);
            work.primes = packed_primes(0);
            work.x = bench.x_.address();
            work.y = bench.y_.address();
            const Products& products = is_matrix_per_plane ? bench.unsigned_ : bench.signed_;
            products.divide(work);
            work.partial = work.splits == 1 ? work.y : bench.partial_.address();
            const std::size_t bytes = std::size_t{work.rows} * work.stride;
            const std::size_t per_product = is_matrix_per_plane ? planes : 1;
            products_ = std::max<std::size_t>(1, rotated_bytes / bytes / per_product);
            bench.timing_.begin_capture(bench.stream_, 0);
            for (std::size_t i = 0; i < products_ * per_product; ++i) {
                work.w = bench.weights_.address() + i * bytes;
                if (is_matrix_per_plane) work.primes = packed_primes(i % planes);
                products.multiply(work, bench.stream_);
            }
            void* graph = nullptr;
            bench.timing_.end_capture(bench.stream_, &graph);
            bench.timing_.instantiate(&graph_, graph, 0);
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
        const Bench& bench_;
        void* graph_ = nullptr;
        std::size_t products_ = 0;
    };

private:
    static constexpr std::size_t most_weight_bytes = std::size_t{1} << 29;
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

    /// Of what `enqueue` adds to the stream, by the GPU's clock.
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
    const Products signed_, unsigned_;
    const DeviceMemory weights_, x_, y_, partial_;
    Stream stream_ = nullptr;
    void *begin_ = nullptr, *end_ = nullptr;
};

/// A product from the processor's memory to the processor's memory, as David calls for it.
class WholeProduct {
public:
    WholeProduct(Gpu& gpu, const Group& group, std::size_t columns, std::size_t planes)
        : planes_(planes),
          weights_(group.rows * group.cols, 1),
          held_(gpu.hold({weights_.data(), group.rows, group.cols})),
          x_(columns * planes * group.cols, 7),
          y_(columns * planes * group.rows) {}

    double seconds() {
        return seconds_of([&] { held_->multiply(x_, y_, planes_); });
    }

private:
    std::size_t planes_;
    std::vector<std::int8_t> weights_;
    std::unique_ptr<const kernels::DeviceMatrix> held_;
    std::vector<std::uint8_t> x_, y_;
};

double microseconds(double seconds) { return std::round(seconds * 1e8) / 100; }
double rounded(double ratio) { return std::round(ratio * 1000) / 1000; }

/// The medians of one group and number of columns, and the ratios' medians over the repetitions.
ordered_json measure(const Bench& bench, Gpu& gpu, const Group& group, std::size_t columns,
                     std::size_t repetitions) {
    const Bench::Launches open(bench, group, columns, 1, false);
    const Bench::Launches four(bench, group, columns, 4, false);
    const Bench::Launches five(bench, group, columns, 5, false);
    const Bench::Launches hidden(bench, group, columns, hidden_planes, true);
    WholeProduct whole_four(gpu, group, columns, 4), whole_five(gpu, group, columns, 5);
    const char* const names[] = {"unprotected",  "planes_4", "planes_5",
                                 "six_matrices", "whole_4",  "whole_5"};
    std::map<std::string, std::vector<double>> seconds, ratios;
    for (std::size_t i = 0; i < repetitions + 1; ++i) {
        const double all[] = {open.seconds(),   four.seconds(),       five.seconds(),
                              hidden.seconds(), whole_four.seconds(), whole_five.seconds()};
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
    const double bytes = static_cast<double>(group.rows * group.cols);
    of["weight_gb_per_s_4"] = std::round(bytes / median(seconds["planes_4"]) * 1e-9);
    of["weight_gb_per_s_5"] = std::round(bytes / median(seconds["planes_5"]) * 1e-9);
    return of;
}

int run(const std::string& shape, std::size_t repetitions) {
    const auto found = synthetic::shapes.find(shape);
    if (found == synthetic::shapes.end()) throw BadInput("there is no shape '" + shape + "'");
    const auto gpu = Gpu::open();
    const Bench bench;
    ordered_json products = ordered_json::array();
    for (const Group& group : groups_of(found->second)) {
        for (const std::size_t columns : column_counts) {
            products.push_back(measure(bench, *gpu, group, columns, repetitions));
        }
    }
    const ordered_json out{{"experiment", "gpu-products"},
                           {"model", {{"name", shape}}},
                           {"settings", {{"gpu", bench.name()}, {"repetitions", repetitions}}},
                           {"seed", nullptr},
                           {"result",
                            {{"copy_gb_per_s", std::round(bench.copied_per_second() * 1e-9)},
                             {"products", products}}}};
    std::cout << out.dump() << '\n';
    return 0;
}

int main_of(int argc, char** argv) {
    po::options_description flags("gpu_products");
    flags.add_options()("shape", po::value<std::string>()->required(), "tinyllama or llama2-7b")(
        "repetitions", po::value<std::size_t>()->default_value(15), "of which the medians are");
    po::variables_map values;
    po::store(po::parse_command_line(argc, argv, flags), values);
    po::notify(values);
    return run(values["shape"].as<std::string>(),
               std::max<std::size_t>(1, values["repetitions"].as<std::size_t>()));
}

}  // namespace
}  // namespace slip::gpu

int main(int argc, char** argv) {
    try {
        return slip::gpu::main_of(argc, argv);
    } catch (const slip::BadInput& error) {
        std::cerr << "gpu_products: " << error.what() << '\n';
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "gpu_products: " << error.what() << '\n';
        return 1;
    }
}
