// Trains one attacker from David's share of a model and prints one JSON object: a run of the safety
// measurements (DEF-4, DEF-8).
#include "experiments/safety/restore/attackers.hpp"
#include "experiments/safety/restore/lessons.hpp"
#include "experiments/safety/restore/share_folder.hpp"
#include "experiments/safety/spans/search.hpp"
#include "experiments/training/likelihood.hpp"
#include "experiments/training/optimise.hpp"
#include "experiments/training/options.hpp"
#include "experiments/training/text.hpp"

#include <malloc.h>
#include <torch/utils.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <stdexcept>

namespace {

using namespace safety;
using training::kMany, training::Model, training::Options, training::UsageError;

constexpr const char* kUsage =
    "usage: restore --model DIR --share SHARE --attacker NAME --public IDS --valid IDS [options]\n"
    "DIR is the original model, SHARE what david_share wrote, IDS what token_ids wrote.\n"
    "  --attacker NAME     random-start, lora, full or core; a core in spans searched for:\n"
    "                      core-gradient, core-movement, core-movement-wide; in the hidden\n"
    "                      ones: core-told\n"
    "  --labels WHAT       public: the text itself; what the protected model answers to the\n"
    "                      first N windows: queries-N, its most likely next tokens, or logits-N,\n"
    "                      the probabilities of all next tokens (public)\n"
    "  --learning-rate X   peak, after 20 steps of warm-up; cosine to 0 (the attacker's own)\n"
    "  --steps N           optimiser steps (400)\n"
    "  --batch N           windows per step (8)\n"
    "  --window N          tokens per window, also where perplexity is measured (128)\n"
    "  --begin WHAT        what stands before a window: bos or nothing (bos)\n"
    "  --public-tokens N   of the public text (50000)\n"
    "  --valid-tokens N    of the text on which perplexity is measured (20000)\n"
    "  --seed N            (1)\n"
    "  --out FOLDER        writes the restored model there, a Hugging Face checkpoint that can be\n"
    "                      a SHARE\n";

constexpr int64_t kWarmup = 20;
constexpr int64_t kGradientRows = 64;

/// The best of three per attacker on stories260K, LSC at rank 4 (experiments/runs/tuning.toml).
double usual_rate(Attacker attacker) {
    switch (attacker) {
        case Attacker::random_start:
        case Attacker::full:
            return 0.003;
        case Attacker::lora:
        case Attacker::core:
        case Attacker::core_gradient:
        case Attacker::core_movement:
        case Attacker::core_movement_wide:
        case Attacker::core_told:
            return 0.03;
    }
    throw std::invalid_argument("no such attacker");
}

struct Settings {
    explicit Settings(const Options& options)
        : model(options.text("--model")),
          share(options.text("--share")),
          attacker(options.parsed("--attacker", attacker_named)),
          labels(options.text("--labels")),
          steps(options.integer("--steps", 0, kMany)),
          batch(options.integer("--batch", 1, 4096)),
          window(options.integer("--window", 2, 8192)),
          begin(options.parsed("--begin", begin_named)),
          public_tokens(options.integer("--public-tokens", 1, kMany)),
          valid_tokens(options.integer("--valid-tokens", 1, kMany)),
          seed(options.integer("--seed", 0, kMany)) {
        rate = options.text("--learning-rate") == "usual"
                   ? usual_rate(attacker)
                   : options.real("--learning-rate", 0.0, 10.0);
        read_labels();
    }

    /// Sets `queries` and `answer` from `labels`.
    void read_labels() {
        if (labels == "public") return;
        const size_t hyphen = std::min(labels.find('-'), labels.size());
        const std::string kind = labels.substr(0, hyphen);
        const std::string number = labels.substr(std::min(hyphen + 1, labels.size()));
        if ((kind != "queries" && kind != "logits") || number.empty() || number.size() > 9 ||
            number.find_first_not_of("0123456789") != std::string::npos || std::stol(number) < 1) {
            throw UsageError("option --labels expects public, queries-N or logits-N, got '" +
                             labels + "'");
        }
        answer = kind == "logits" ? Answer::distribution : Answer::most_likely;
        queries = std::stol(number);
    }

    static Begin begin_named(const std::string& name) {
        if (name == "bos") return Begin::bos;
        if (name == "nothing") return Begin::nothing;
        throw std::invalid_argument("expected bos or nothing, got '" + name + "'");
    }

    [[nodiscard]] nlohmann::ordered_json as_json(const ShareDescription& description) const {
        return {{"strategy", description.strategy},
                {"rank", description.largest_rank()},
                {"known", description.known ? "embeddings-and-norms" : "nothing"},
                {"attacker", name_of(attacker)},
                {"labels", labels},
                {"learning_rate", rate},
                {"batch", batch},
                {"window", window},
                {"public_tokens", public_tokens},
                {"valid_tokens", valid_tokens}};
    }

    std::string model, share;
    Attacker attacker;
    std::string labels;
    int64_t steps, batch, window;
    Begin begin;
    int64_t public_tokens, valid_tokens, seed;
    int64_t queries = 0;  // 0: labels of the public text
    Answer answer = Answer::most_likely;
    double rate = 0;
};

std::vector<int64_t> first_tokens(const std::string& path, int64_t most, const Model& model) {
    auto ids = training::read_tokens(path, model.config().vocab_size);
    ids.resize(std::min(ids.size(), static_cast<size_t>(most)));
    return ids;
}

double perplexity(const Model& model, const std::vector<int64_t>& ids, const Settings& settings) {
    if (settings.begin == Begin::nothing) {
        const torch::InferenceMode inference;
        const auto all = Lessons::from_text(ids, settings.window, settings.begin);
        return std::exp(all.loss(model.forward(all.inputs)).item<double>());
    }
    return std::exp(training::total_nll(model, ids, settings.window, settings.window) /
                    static_cast<double>(ids.size()));
}

void train(Attack& attack, const Lessons& lessons, const Settings& settings, double peak) {
    auto optimizer = training::make_optimizer(attack.trained(), 0.0);
    for (int64_t step = 0; step < settings.steps; ++step) {
        const Lessons batch =
            lessons.batch(settings.batch, static_cast<uint64_t>(settings.seed), step);
        const double rate = training::learning_rate(step, settings.steps, kWarmup, peak);
        const double loss = training::learn(optimizer, rate, [&] {
            attack.apply();
            return batch.loss(attack.model().forward(batch.inputs));
        });
        if ((step + 1) % 50 == 0) {
            std::fprintf(stderr, "restore: step %ld of %ld, loss %.4f\n",
                         static_cast<long>(step + 1), static_cast<long>(settings.steps), loss);
        }
    }
    attack.apply();
}

/// Where an attacker who needs spans puts his core; empty for others.
SpansByTensor found_spans(const Settings& settings, const ShareDescription& description,
                          const Model& original, const Lessons& lessons) {
    if (!needs_spans(settings.attacker)) return {};
    const auto share = Model::load(settings.share);
    if (settings.attacker == Attacker::core_told) {
        return hidden_spans(*share, description, original);
    }
    const Changes changes =
        settings.attacker == Attacker::core_gradient
            ? gradient_at(Model::load(settings.share), description, lessons, kGradientRows)
            : movement_of(Model::load(settings.share), description, [&](Attack& attack) {
                  train(attack, lessons, settings, usual_rate(Attacker::full));
              });
    const bool wide = settings.attacker == Attacker::core_movement_wide;
    return directions_of(*share, description, changes, wide ? pairs_of : spans_of);
}

/// As a share: programs that read a text can use it, and attackers can begin from it again.
void write_checkpoint(const Model& model, const Settings& settings, const std::string& folder) {
    namespace fs = std::filesystem;
    fs::create_directories(folder);
    model.save(folder, torch::kFloat);
    for (const fs::path& file :
         {fs::path(settings.model) / "tokenizer.model", fs::path(settings.model) / "tokenizer.json",
          fs::path(settings.share) / "share.json"}) {
        if (fs::exists(file)) {
            fs::copy_file(file, fs::path(folder) / file.filename(),
                          fs::copy_options::overwrite_existing);
        }
    }
}

void restore(const Settings& settings, const Options& options) {
    const auto original = Model::load(settings.model);
    auto share = Model::load(settings.share);
    const auto description = ShareDescription::load(settings.share);
    const auto valid = first_tokens(options.text("--valid"), settings.valid_tokens, *original);
    Lessons lessons = Lessons::from_text(
        first_tokens(options.text("--public"), settings.public_tokens, *original), settings.window,
        settings.begin);
    if (settings.queries > 0) {
        lessons = lessons.answered_by(*original, settings.queries, settings.answer);
    }

    const double before = perplexity(*share, valid, settings);
    torch::manual_seed(static_cast<uint64_t>(settings.seed));
    const SpansByTensor found = found_spans(settings, description, *original, lessons);
    const double spans_found =
        found.empty() ? 0.0 : part_found(found, hidden_spans(*share, description, *original));
    Attack attack(std::move(share), description, settings.attacker, found);
    train(attack, lessons, settings, settings.rate);
    if (const std::string& out = options.text("--out"); out != "none") {
        write_checkpoint(attack.model(), settings, out);
    }

    const int64_t tokens = settings.steps * settings.batch * settings.window;
    nlohmann::ordered_json json{{"experiment", "restoration"},
                                {"model", description.model},
                                {"settings", settings.as_json(description)},
                                {"seed", settings.seed},
                                {"result",
                                 {{"perplexity",
                                   {{"original", perplexity(*original, valid, settings)},
                                    {"share", before},
                                    {"restored", perplexity(attack.model(), valid, settings)}}},
                                  {"parameters_trained", attack.parameters_trained()},
                                  {"tokens", tokens},
                                  {"steps", settings.steps}}}};
    if (!found.empty()) json["result"]["spans_found"] = spans_found;
    std::cout << json.dump() << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
    mallopt(M_MMAP_THRESHOLD, 1 << 30);  // as in experiments/training/train.cpp
    mallopt(M_TRIM_THRESHOLD, -1);
    return training::run_program(kUsage, [&] {
        const Options options(argc, argv, 1,
                              {{"--model", ""},
                               {"--share", ""},
                               {"--attacker", ""},
                               {"--public", ""},
                               {"--valid", ""},
                               {"--labels", "public"},
                               {"--learning-rate", "usual"},
                               {"--steps", "400"},
                               {"--batch", "8"},
                               {"--window", "128"},
                               {"--begin", "bos"},
                               {"--public-tokens", "50000"},
                               {"--valid-tokens", "20000"},
                               {"--seed", "1"},
                               {"--out", "none"}});
        restore(Settings(options), options);
    });
}
