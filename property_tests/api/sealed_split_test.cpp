// A sealed split on disk (MODEL-20): what opens, what is refused, and what is never written.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "optimized/artifact/artifact.hpp"
#include "optimized/artifact/digests.hpp"
#include "optimized/artifact/hint_digests.hpp"
#include "optimized/base/files.hpp"
#include "property_tests/generators/refusal.hpp"
#include "property_tests/generators/synthetic_model.hpp"
#include "property_tests/generators/temporary_folder.hpp"
#include "slip/slip.hpp"

namespace slip::testing {
namespace {

namespace fs = std::filesystem;
namespace layout = artifact::layout;
using artifact::CharlieArtifact;
using Bytes = std::vector<std::uint8_t>;

constexpr const char* masks_file = "charlie/masks.safetensors";
constexpr const char* check_file = "charlie/check.safetensors";

/// A checkpoint, two keys, and splits of it. Its head has two whole chunks of rows, and two rows
/// more.
class Sealed {
public:
    explicit Sealed(std::string set) : set_(std::move(set)) {
        const Draws any = draws_from(5);
        const SyntheticModel synthetic =
            draw_llama({[any](std::size_t least, std::size_t most) {
                            return most == 50 ? std::size_t{130} : any.between(least, most);
                        },
                        any.weight});  // `most` of a vocabulary is 50
        write_checkpoint(synthetic, at("model"));
        vocabulary = synthetic.config.vocab_size;
        for (const char* name : {"key", "other"}) {
            std::string bytes(32, '\0');
            std::generate(bytes.begin(), bytes.end(),
                          [&, i = 0]() mutable { return static_cast<char>(name[0] + 5 * i++); });
            base::write_file(at(name), bytes, 0600);
        }
    }
    SplitOptions options(const std::string& name, const std::string& key = "key") const {
        SplitOptions options;
        options.out = at(name);
        options.set = set_;
        if (!hides()) options.plan = uniform_plan(at("model"), 2);
        if (!key.empty()) options.seal = at(key);
        return options;
    }
    bool hides() const { return set_ == "hidden"; }
    void split(const std::string& name, const std::string& key = "key") const {
        split_checkpoint(at("model"), options(name, key));
    }
    fs::path at(const std::string& name) const { return folder_ / name; }
    CharlieArtifact open(const std::string& name) const {
        return CharlieArtifact(at(name), at("key"));
    }

    std::size_t vocabulary = 0;

private:
    TemporaryFolder folder_;
    std::string set_;
};

/// Both sets whose groups have hints.
void for_both_sets(const std::function<void(const Sealed&)>& test) {
    for (const char* set : {"hidden", "paper-lattice"}) {
        SCOPED_TRACE(set);
        test(Sealed(set));
    }
}

std::size_t rows_of(const CharlieArtifact& charlie, std::size_t group) {
    return charlie.groups()[group].product().rows;
}

/// All of a hint, decrypted.
Bytes plain_hint(const CharlieArtifact& charlie, std::size_t group) {
    Bytes plain(charlie.hint(group).size());
    const std::size_t chunk = plain.size() / rows_of(charlie, group) * layout::hint_chunk_rows;
    for (std::size_t c = 0; c * chunk < plain.size(); ++c) {
        const std::size_t size = std::min(chunk, plain.size() - c * chunk);
        charlie.open_hint(group, c, std::span(plain).subspan(c * chunk, size));
    }
    return plain;
}

/// Whether some file below `folder` holds one of these texts, at any place.
bool any_file_holds(const fs::path& folder, const std::vector<std::string>& texts) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file() || entry.file_size() == 0) continue;
        const std::string contents = base::read_file(entry.path());
        for (const std::string& text : texts) {
            if (contents.find(text) != std::string::npos) return true;
        }
    }
    return false;
}

/// 24 bytes from each row of every hint, and the keys of V and E.
std::vector<std::string> secrets_of(const CharlieArtifact& charlie) {
    std::vector<std::string> texts;
    const auto keep = [&](std::span<const std::uint8_t> bytes) {
        texts.emplace_back(bytes.begin(), bytes.end());
    };
    for (std::size_t g = 0; g < charlie.groups().size(); ++g) {
        const Bytes plain = charlie.sealed()
                                ? plain_hint(charlie, g)
                                : Bytes(charlie.hint(g).begin(), charlie.hint(g).end());
        const std::size_t rows = rows_of(charlie, g);
        for (std::size_t i = 0; i < rows; ++i) {
            keep(std::span(plain).subspan(i * (plain.size() / rows) + 11 * i, 24));
        }
        if (charlie.set().hides_weights) keep(charlie.hiding_key(g));
    }
    return texts;
}

TEST(SealedSplit, MODEL_20_runs_as_the_unsealed_split_does) {
    for_both_sets([](const Sealed& sealed) {
        sealed.split("out");
        CharlieOptions options;
        options.seal = sealed.at("key");
        auto charlie = open_charlie_in_process<LanguageModel>(sealed.at("out"), options);
        const auto ids = random_ids(3, 4, sealed.vocabulary);
        const auto own = bits_of(charlie.forward(ids));
        if (sealed.hides()) {
            sealed.split("plain", "");
            EXPECT_EQ(
                own,
                bits_of(open_charlie_in_process<LanguageModel>(sealed.at("plain")).forward(ids)));
        } else {
            EXPECT_EQ(own, bits_of(open_unsplit<LanguageModel>(sealed.at("out")).forward(ids)));
        }
        const CharlieArtifact artifact = sealed.open("out");
        for (std::size_t g = 0; g < artifact.groups().size(); ++g) {
            EXPECT_NO_THROW(artifact.require_hint(g));
        }
    });
}

/// Looked for after each matrix too, in all that is there, and found where nothing is sealed.
TEST(SealedSplit, MODEL_20_no_hint_and_no_key_of_V_and_E_is_on_the_disk_at_any_time) {
    for_both_sets([](const Sealed& sealed) {
        SplitOptions options = sealed.options("out");
        const fs::path seen = sealed.at("seen");
        options.progress = [&](const SplitProgress& now) {
            fs::copy(sealed.at(".out.slip-partial"), seen / std::to_string(now.finished),
                     fs::copy_options::recursive);
        };
        fs::create_directory(seen);
        split_checkpoint(sealed.at("model"), options);
        EXPECT_GT(std::distance(fs::directory_iterator(seen), fs::directory_iterator()), 4);
        const auto secrets = secrets_of(sealed.open("out"));
        EXPECT_FALSE(any_file_holds(seen, secrets));
        EXPECT_FALSE(any_file_holds(sealed.at("out"), secrets));

        sealed.split("plain", "");
        EXPECT_TRUE(
            any_file_holds(sealed.at("plain"), secrets_of(CharlieArtifact(sealed.at("plain")))));
    });
}

/// The salts of an artifact.
std::vector<std::string> salts_of(const fs::path& out) {
    const importing::SafetensorsFile file(out / masks_file);
    std::vector<std::string> salts;
    for (std::size_t g = 0; file.contains(layout::salt_tensor(g)); ++g) {
        const auto bytes = file.tensor(layout::salt_tensor(g)).bytes;
        salts.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    return salts;
}

TEST(SealedSplit, MODEL_20_no_two_groups_have_one_salt_whatever_is_split_again) {
    for_both_sets([](const Sealed& sealed) {
        sealed.split("one");
        sealed.split("two");
        std::set<std::string> all;
        std::size_t groups = 0;
        for (const char* name : {"one", "two"}) {
            const auto salts = salts_of(sealed.at(name));
            groups += salts.size();
            all.insert(salts.begin(), salts.end());
        }
        EXPECT_EQ(groups, 2 * sealed.open("one").groups().size());
        EXPECT_EQ(all.size(), groups);
    });
}

/// A group that a killed split had finished stays, and one that it had begun gets another salt.
TEST(SealedSplit, MODEL_20_DECO_11_a_group_that_is_written_again_has_another_salt) {
    for_both_sets([](const Sealed& sealed) {
        SplitOptions options = sealed.options("whole");
        const fs::path partial = sealed.at(".out.slip-partial"), kept = sealed.at("kept");
        std::size_t finished = 0;
        options.progress = [&](const SplitProgress& now) {
            if (now.finished < 5 || finished > 0) return;
            finished = now.finished;
            fs::copy(sealed.at(".whole.slip-partial"), kept, fs::copy_options::recursive);
        };
        split_checkpoint(sealed.at("model"), options);
        const auto go_on = [&](const std::string& key) {
            fs::copy(kept, partial, fs::copy_options::recursive);
            fs::permissions(partial, fs::perms::owner_all);
            split_checkpoint(sealed.at("model"), sealed.options("out", key));
            const auto salts = salts_of(sealed.at("out"));
            EXPECT_EQ(plain_hint(sealed.open("out"), 0), plain_hint(sealed.open("whole"), 0));
            EXPECT_EQ(plain_hint(sealed.open("out"), salts.size() - 1),
                      plain_hint(sealed.open("whole"), salts.size() - 1));
            fs::remove_all(sealed.at("out"));
            return salts;
        };
        const auto whole = salts_of(sealed.at("whole")), first = go_on("key"),
                   second = go_on("key");
        std::size_t same = 0;
        for (std::size_t g = 0; g < whole.size(); ++g) {
            const bool stays = whole[g] == first[g];
            EXPECT_EQ(stays, whole[g] == second[g]);
            EXPECT_EQ(stays, first[g] == second[g]) << "one salt for two writings of group " << g;
            same += stays;
        }
        EXPECT_GT(same, 0U);
        EXPECT_LT(same, whole.size());
        for (const char* key : {"", "other"}) {
            EXPECT_NE(refusal([&] { go_on(key); }).find("holds an unfinished split of another"),
                      std::string::npos);
            fs::remove_all(partial);
        }
    });
}

/// Changes bytes of a tensor, and the digest of the file that it is in.
void change(const fs::path& file, const std::string& tensor,
            const std::function<void(std::span<char>)>& edit) {
    std::string contents = base::read_file(file);
    const auto header = importing::parse_safetensors(std::as_bytes(std::span(contents)), file);
    const auto bytes = header.tensors.at(tensor).bytes;
    const auto at = reinterpret_cast<const char*>(bytes.data()) - contents.data();
    edit(std::span(contents).subspan(static_cast<std::size_t>(at), bytes.size()));
    fs::remove(file);
    base::write_file(file, contents, 0600);
    fs::remove(file.parent_path() / layout::digests);
    artifact::write_digests(file.parent_path(), 0600);
}

/// What opening the artifact, or then a chunk, says.
std::string said_of(const Sealed& sealed, const std::string& out, std::size_t group,
                    std::size_t chunk) {
    return refusal([&] {
        const CharlieArtifact charlie = sealed.open(out);
        const std::size_t row = charlie.hint(group).size() / rows_of(charlie, group);
        const std::size_t first = chunk * layout::hint_chunk_rows;
        Bytes rows(std::min(layout::hint_chunk_rows, rows_of(charlie, group) - first) * row);
        charlie.open_hint(group, chunk, rows);
    });
}

TEST(SealedSplit, MODEL_20_a_changed_byte_is_named_with_its_group_and_rows) {
    for_both_sets([](const Sealed& sealed) {
        sealed.split("out");
        const fs::path masks = sealed.at("out") / masks_file;
        const std::string rows = masks.string() + ": tensor group.1, rows 0 to ";
        const auto flip = [](std::size_t at) {
            return [at](std::span<char> bytes) { bytes[at] ^= 4; };
        };
        EXPECT_EQ(said_of(sealed, "out", 1, 0), "accepted");
        struct Case {
            std::string tensor;
            std::size_t at;
            std::string says;
        };
        const std::string salt =
            sealed.hides() ? "tensor key.1: " : rows;  // the keys are opened first
        for (const auto& [tensor, at, says] :
             {Case{"group.1", 77, rows}, Case{"tag.1", 3, rows}, Case{"salt.1", 31, salt}}) {
            change(masks, tensor, flip(at));
            const std::string said = said_of(sealed, "out", 1, 0);
            EXPECT_NE(said.find(says), std::string::npos) << tensor << ": " << said;
            EXPECT_NE(refusal([&] { sealed.open("out").require_hint(1); }), "accepted");
            change(masks, tensor, flip(at));
        }
        if (sealed.hides()) {
            change(sealed.at("out") / check_file, "key.1", flip(5));
            EXPECT_NE(said_of(sealed, "out", 1, 0).find("tensor key.1: "), std::string::npos);
            change(sealed.at("out") / check_file, "key.1", flip(5));
        }
        EXPECT_EQ(said_of(sealed, "out", 1, 0), "accepted");
    });
}

/// With their tags and digests, so that nothing but the number tells them apart.
TEST(SealedSplit, MODEL_20_chunks_that_are_swapped_do_not_open) {
    for_both_sets([](const Sealed& sealed) {
        sealed.split("out");
        const std::size_t g = sealed.open("out").groups().size() - 1;  // the head
        ASSERT_EQ(rows_of(sealed.open("out"), g), 130U);
        const auto swap = [](std::size_t size) {
            return [size](std::span<char> bytes) {
                std::swap_ranges(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size),
                                 bytes.begin() + static_cast<std::ptrdiff_t>(size));
            };
        };
        std::size_t chunk = 0;
        {
            const CharlieArtifact charlie = sealed.open("out");
            chunk = charlie.hint(g).size() / rows_of(charlie, g) * layout::hint_chunk_rows;
        }
        change(sealed.at("out") / masks_file, layout::group_tensor(g), swap(chunk));
        change(sealed.at("out") / masks_file, layout::tag_tensor(g), swap(layout::tag_bytes));
        change(sealed.at("out") / check_file, layout::hint_tensor(g), swap(32));
        const std::string said = said_of(sealed, "out", g, 1);
        EXPECT_NE(said.find(", rows 64 to 127: "), std::string::npos) << said;
        EXPECT_NE(said.find("does not open them"), std::string::npos) << said;
    });
}

/// With all that belongs to it.
TEST(SealedSplit, MODEL_20_the_hint_of_another_split_does_not_open) {
    for_both_sets([](const Sealed& sealed) {
        sealed.split("out");
        sealed.split("second");
        const importing::SafetensorsFile other(sealed.at("second") / masks_file);
        const importing::SafetensorsFile other_check(sealed.at("second") / check_file);
        const auto take = [&](const char* file, const importing::SafetensorsFile& from,
                              const std::string& tensor) {
            change(sealed.at("out") / file, tensor, [&](std::span<char> bytes) {
                const auto own = from.tensor(tensor).bytes;
                std::copy_n(reinterpret_cast<const char*>(own.data()), own.size(), bytes.begin());
            });
        };
        for (const char* tensor : {"group.1", "tag.1", "salt.1"}) take(masks_file, other, tensor);
        take(check_file, other_check, "hint.1");
        EXPECT_NE(said_of(sealed, "out", 1, 0), "accepted");
    });
}

TEST(SealedSplit, MODEL_20_keys_that_do_not_fit_are_refused) {
    for_both_sets([](const Sealed& sealed) {
        sealed.split("out");
        sealed.split("plain", "");
        const auto opening = [&](const std::string& out, const std::string& key) {
            CharlieOptions options;
            if (!key.empty()) options.seal = sealed.at(key);
            return refusal(
                [&] { open_charlie_in_process<LanguageModel>(sealed.at(out), options); });
        };
        EXPECT_EQ(opening("out", "key"), "accepted");
        EXPECT_EQ(opening("plain", ""), "accepted");
        EXPECT_NE(opening("out", "").find("masks.safetensors: the hints are sealed"),
                  std::string::npos);
        EXPECT_NE(opening("plain", "key").find("are not sealed: expected no key"),
                  std::string::npos);
        EXPECT_NE(opening("out", "other").find("tensor group.0, rows 0 to "), std::string::npos);
        EXPECT_NE(opening("out", "absent").find("absent: does not exist"), std::string::npos);
        // Whoever does not ask for hints needs no key, and gets none.
        const CharlieArtifact without(sealed.at("out"));
        EXPECT_TRUE(without.sealed());
        EXPECT_NE(refusal([&] { without.hint(0); }), "accepted");
        EXPECT_NO_THROW(without.require_hint(0));
    });
}

TEST(Seal, MODEL_20_a_set_without_hints_is_not_sealed) {
    const Sealed sealed("paper");
    EXPECT_NE(refusal([&] { sealed.split("out"); }).find("no group of this model has hints"),
              std::string::npos);
    EXPECT_FALSE(fs::exists(sealed.at("out")));
    EXPECT_NE(refusal([&] { Sealed("hidden").split("out", "absent"); }).find("does not exist"),
              std::string::npos);
}

}  // namespace
}  // namespace slip::testing
