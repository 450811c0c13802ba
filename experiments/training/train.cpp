// Trains the small LLaMA-family model and writes it as a Hugging Face model folder.
#include "likelihood.hpp"
#include "model.hpp"
#include "optimise.hpp"
#include "options.hpp"
#include "text.hpp"

#include <malloc.h>
#include <torch/serialize.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <random>

namespace {

using namespace training;
using torch::Tensor;

constexpr const char* kUsage =
    "usage: train --stories TOKENS --plain TOKENS --valid TOKENS --out FOLDER --checkpoint FILE "
    "[options]\n"
    "TOKENS are files written by `tokenize`; --stories and --plain are one text as stories and as "
    "a whole.\n"
    "  --family NAME     llama, gpt2 or phi (llama)\n"
    "  --layers N        blocks (6)\n"
    "  --hidden N        width of the residual stream (192)\n"
    "  --intermediate N  width of the MLP (512)\n"
    "  --heads N         attention heads; they divide --hidden (6)\n"
    "  --kv-heads N      key/value heads; they divide --heads; gpt2 and phi have as many as heads "
    "(3)\n"
    "  --steps N         optimiser steps of the whole cosine schedule (2700)\n"
    "  --batch N         rows per step (4)\n"
    "  --window N        tokens per row; also max_position_embeddings (512)\n"
    "  --lr X            peak learning rate (0.0025)\n"
    "  --warmup N        steps to reach it (150)\n"
    "  --weight-decay X  on matrices (0.1)\n"
    "  --dropout X       on the embedding and both branches of each layer (0)\n"
    "  --eval-every N    steps between validations (250)\n"
    "  --valid-limit N   tokens of --valid used for them, from its start; evaluate measures all of "
    "it (40000)\n"
    "  --matmul TYPE     bfloat16 or float32 matrix products (bfloat16)\n"
    "  --seed N          (1)\n"
    "An existing --checkpoint is resumed; delete it to start again.\n";

/// The training text as rows of window + 1 tokens. Half of the rows start at a story and mark story
/// ends by EOS, BOS, which teaches the model to stop; the other half are cut anywhere from the
/// plain text, empty lines included, as a text to be measured would be. Rows depend on (seed, step)
/// only, so that a resumed run sees what it would have seen.
class Rows {
public:
    Rows(const std::vector<std::vector<int64_t>>& stories, std::vector<int64_t> plain,
         int64_t window)
        : window_(window), plain_(std::move(plain)) {
        for (const auto& story : stories) {
            starts_.push_back(stories_.size());
            stories_.push_back(kBos);
            stories_.insert(stories_.end(), story.begin(), story.end());
            stories_.push_back(kEos);
        }
        while (!starts_.empty() && starts_.back() + row_size() > stories_.size())
            starts_.pop_back();
        if (starts_.empty() || plain_.size() < row_size()) {
            throw std::runtime_error("the training text is shorter than one window");
        }
    }

    [[nodiscard]] size_t token_count() const { return plain_.size(); }

    [[nodiscard]] Tensor batch(int64_t rows, uint64_t seed, int64_t step) const {
        std::seed_seq mixed{seed, static_cast<uint64_t>(step)};
        std::mt19937_64 random(mixed);
        std::vector<int64_t> ids;
        for (int64_t row = 0; row < rows; ++row) {
            if (row % 2 == 0) {
                const size_t begin = starts_[pick(starts_.size(), random)];
                ids.insert(ids.end(), stories_.begin() + begin,
                           stories_.begin() + begin + row_size());
            } else {
                const size_t begin = pick(plain_.size() - window_ + 1, random);
                ids.push_back(kBos);
                ids.insert(ids.end(), plain_.begin() + begin, plain_.begin() + begin + window_);
            }
        }
        return torch::tensor(ids, torch::kLong).view({rows, window_ + 1});
    }

private:
    [[nodiscard]] size_t row_size() const { return static_cast<size_t>(window_) + 1; }

    static size_t pick(size_t count, std::mt19937_64& random) {
        return std::uniform_int_distribution<size_t>(0, count - 1)(random);
    }

    int64_t window_;
    std::vector<int64_t> plain_, stories_;
    std::vector<size_t> starts_;  // where each story's BOS is in stories_
};

/// Everything a resumed run needs besides its command line.
struct Progress {
    int64_t step = 0;
    double best = std::numeric_limits<double>::infinity();  // lowest validation loss so far
    std::string log = "step,train_loss,valid_loss\n";
};

void save_checkpoint(const std::string& path, const Model& model,
                     torch::optim::Optimizer& optimizer, const Progress& progress) {
    torch::serialize::OutputArchive archive, optimizer_archive;
    for (const auto& [name, tensor] : model.parameters()) archive.write(name, tensor);
    optimizer.save(optimizer_archive);
    archive.write("optimizer", optimizer_archive);
    archive.write("step", c10::IValue(progress.step));
    archive.write("best", c10::IValue(progress.best));
    archive.write("log", c10::IValue(progress.log));
    archive.save_to(path + ".tmp");
    std::filesystem::rename(path + ".tmp", path);
}

Progress load_checkpoint(const std::string& path, Model& model,
                         torch::optim::Optimizer& optimizer) try {
    torch::serialize::InputArchive archive, optimizer_archive;
    archive.load_from(path);
    torch::NoGradGuard no_grad;
    for (const auto& [name, tensor] : model.parameters()) {
        Tensor saved;
        archive.read(name, saved);
        if (saved.sizes() != tensor.sizes())
            throw std::runtime_error(path + ": " + name + " has another shape");
        Tensor(tensor).copy_(saved);
    }
    archive.read("optimizer", optimizer_archive);
    optimizer.load(optimizer_archive);
    c10::IValue step, best, log;
    archive.read("step", step);
    archive.read("best", best);
    archive.read("log", log);
    return {step.toInt(), best.toDouble(), log.toStringRef()};
} catch (const c10::Error& error) {
    throw std::runtime_error(
        path + ": expected a checkpoint of this program: " + error.what_without_backtrace());
}

struct Settings {
    explicit Settings(const Options& options)
        : stories(options.text("--stories")),
          plain(options.text("--plain")),
          valid(options.text("--valid")),
          out(options.text("--out")),
          checkpoint(options.text("--checkpoint")),
          layers(options.integer("--layers", 1, 1000)),
          hidden(options.integer("--hidden", 1, kMany)),
          intermediate(options.integer("--intermediate", 1, kMany)),
          heads(options.integer("--heads", 1, kMany)),
          kv_heads(options.integer("--kv-heads", 1, kMany)),
          steps(options.integer("--steps", 1, kMany)),
          batch(options.integer("--batch", 1, 4096)),
          window(options.integer("--window", 8, 8192)),
          warmup(options.integer("--warmup", 1, kMany)),
          eval_every(options.integer("--eval-every", 1, kMany)),
          valid_limit(options.integer("--valid-limit", 1, kMany)),
          seed(static_cast<uint64_t>(options.integer("--seed", 0, kMany))),
          peak_rate(options.real("--lr", 0.0, 1.0)),
          weight_decay(options.real("--weight-decay", 0.0, 10.0)),
          dropout(options.real("--dropout", 0.0, 0.9)) {
        try {
            family = family_named(options.text("--family"));
        } catch (const std::invalid_argument& error) {
            throw UsageError("option --family: " + std::string(error.what()));
        }
        const std::string& type = options.text("--matmul");
        if (type != "bfloat16" && type != "float32") {
            throw UsageError("option --matmul expects bfloat16 or float32, got '" + type + "'");
        }
        matmul_type = type == "bfloat16" ? torch::kBFloat16 : torch::kFloat;
    }

    [[nodiscard]] ModelConfig config() const {
        ModelConfig config;
        config.family = family;
        config.hidden_size = hidden;
        config.intermediate_size = intermediate;
        config.num_hidden_layers = layers;
        config.num_attention_heads = heads;
        config.num_key_value_heads = family == Family::llama ? kv_heads : heads;
        config.max_position_embeddings = window;
        config.tie_word_embeddings = family != Family::phi;
        if (family == Family::phi) config.partial_rotary_factor = 0.5;
        config.require_consistent("--heads, --kv-heads, --hidden");
        return config;
    }

    std::string stories, plain, valid, out, checkpoint;
    Family family = Family::llama;
    int64_t layers, hidden, intermediate, heads, kv_heads;
    int64_t steps, batch, window, warmup, eval_every, valid_limit;
    uint64_t seed;
    double peak_rate, weight_decay, dropout;
    torch::ScalarType matmul_type = torch::kFloat;
};

void train(const Settings& settings) {
    const ModelConfig config = settings.config();
    const Rows rows(read_token_lines(settings.stories, config.vocab_size),
                    read_tokens(settings.plain, config.vocab_size), settings.window);
    auto valid = read_tokens(settings.valid, config.vocab_size);
    valid.resize(std::min(valid.size(), static_cast<size_t>(settings.valid_limit)));
    std::filesystem::create_directories(settings.out);
    std::filesystem::create_directories(
        std::filesystem::absolute(settings.checkpoint).parent_path());

    torch::manual_seed(settings.seed);
    const auto model = Model::create(config);
    model->matmul_type = settings.matmul_type;
    auto optimizer = make_optimizer(model->tensors(), settings.weight_decay);
    Progress progress;
    if (std::filesystem::exists(settings.checkpoint)) {
        progress = load_checkpoint(settings.checkpoint, *model, optimizer);
        std::printf("resuming %s at step %ld\n", settings.checkpoint.c_str(), progress.step);
    }
    const int64_t step_tokens = settings.batch * settings.window;
    std::printf("%ld parameters, %zu training and %zu validation tokens, %ld steps of %ld tokens\n",
                model->parameter_count(), rows.token_count(), valid.size(), settings.steps,
                step_tokens);
    std::fflush(stdout);

    const auto started = std::chrono::steady_clock::now();
    const int64_t first = progress.step;
    double loss_sum = 0;
    int64_t loss_count = 0;
    while (progress.step < settings.steps) {
        // Dropout's random numbers, too, are the same after a resume.
        torch::manual_seed(settings.seed + static_cast<uint64_t>(progress.step));
        const Tensor ids = rows.batch(settings.batch, settings.seed, progress.step);
        loss_sum += learn(
            optimizer,
            learning_rate(progress.step, settings.steps, settings.warmup, settings.peak_rate), [&] {
                return cross_entropy(model->forward(ids.slice(1, 0, -1), settings.dropout),
                                     ids.slice(1, 1));
            });
        ++loss_count;
        ++progress.step;
        if (progress.step % settings.eval_every != 0 && progress.step != settings.steps) continue;

        const double train_loss = loss_sum / static_cast<double>(loss_count);
        const double valid_loss = total_nll(*model, valid, settings.window, settings.window) /
                                  static_cast<double>(valid.size());
        loss_sum = 0;
        loss_count = 0;
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - started;
        const double per_step = elapsed.count() / static_cast<double>(progress.step - first);
        std::printf("step %ld/%ld  train %.4f  valid %.4f  %.0f tokens/s  ETA %.1f min\n",
                    progress.step, settings.steps, train_loss, valid_loss,
                    static_cast<double>(step_tokens) / per_step,
                    per_step * static_cast<double>(settings.steps - progress.step) / 60.0);
        std::fflush(stdout);

        char line[80];
        std::snprintf(line, sizeof line, "%ld,%.4f,%.4f\n", progress.step, train_loss, valid_loss);
        progress.log += line;
        write_file_atomically(settings.out + "/training_log.csv", progress.log);
        if (valid_loss < progress.best) {
            progress.best = valid_loss;
            model->save(settings.out);
        }
        save_checkpoint(settings.checkpoint, *model, optimizer, progress);
    }
    std::printf("best validation loss %.4f nats per token, model in %s\n", progress.best,
                settings.out.c_str());
}

const std::map<std::string, std::string> kDefaults{
    {"--stories", ""},         {"--plain", ""},
    {"--valid", ""},           {"--out", ""},
    {"--checkpoint", ""},      {"--family", "llama"},
    {"--layers", "6"},         {"--hidden", "192"},
    {"--intermediate", "512"}, {"--heads", "6"},
    {"--kv-heads", "3"},       {"--steps", "2700"},
    {"--batch", "4"},          {"--window", "512"},
    {"--lr", "0.0025"},        {"--warmup", "150"},
    {"--weight-decay", "0.1"}, {"--dropout", "0"},
    {"--eval-every", "250"},   {"--valid-limit", "40000"},
    {"--matmul", "bfloat16"},  {"--seed", "1"}};

}  // namespace

int main(int argc, char** argv) {
    // Activations are allocated and freed every step; without this glibc maps and unmaps each, and
    // zeroing the fresh pages costs more than the arithmetic done on them.
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, -1);
    return run_program(kUsage, [&] { train(Settings(Options(argc, argv, 1, kDefaults))); });
}
