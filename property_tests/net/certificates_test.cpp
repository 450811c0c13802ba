// The certificates of a deployment (SESS-7): who gets which, and what they are good for.
// test: threads
#include "optimized/net/certificates.hpp"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "optimized/base/finding.hpp"
#include "optimized/net/key_folders.hpp"
#include "optimized/net/openssl.hpp"
#include "property_tests/generators/refusal.hpp"
#include "property_tests/net/deployment.hpp"

namespace slip::testing {
namespace {

using namespace net;

mode_t mode_of(const fs::path& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777;
}

Certificate read_certificate(const fs::path& path) {
    std::FILE* file = std::fopen(path.c_str(), "r");
    Certificate certificate(PEM_read_X509(file, nullptr, nullptr, nullptr));
    std::fclose(file);
    return certificate;
}

std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Keys, THREAT_2_folders_are_0700_and_keys_0600) {
    const fs::path out = Deployments::path() / "ours";
    EXPECT_EQ(mode_of(out), 0700U);
    for (const char* party : {"ca", "charlie", "david"}) {
        EXPECT_EQ(mode_of(out / party), 0700U);
        EXPECT_EQ(mode_of(out / party / "key.pem"), 0600U);
    }
}

TEST(Keys, SESS_7_each_party_gets_its_own_folder_only) {
    const fs::path out = Deployments::path() / "ours";
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(out)) {
        names.insert(fs::relative(entry.path(), out).string());
    }
    EXPECT_EQ(names,
              (std::set<std::string>{"ca", "ca/cert.pem", "ca/key.pem", "charlie", "charlie/ca.pem",
                                     "charlie/cert.pem", "charlie/key.pem", "david", "david/ca.pem",
                                     "david/cert.pem", "david/key.pem"}));
    EXPECT_EQ(text_of(out / "charlie/ca.pem"), text_of(out / "ca/cert.pem"));
    EXPECT_EQ(text_of(out / "david/ca.pem"), text_of(out / "ca/cert.pem"));
    EXPECT_NE(text_of(out / "david/key.pem"), text_of(out / "charlie/key.pem"));
    EXPECT_NE(text_of(out / "ca/key.pem"), text_of(Deployments::path() / "theirs/ca/key.pem"));
}

TEST(Keys, SESS_7_certificates_say_what_they_are_for) {
    const fs::path out = Deployments::path() / "ours";
    const Certificate authority = read_certificate(out / "ca/cert.pem");
    const Certificate charlie = read_certificate(out / "charlie/cert.pem");
    const Certificate david = read_certificate(out / "david/cert.pem");
    EXPECT_EQ(X509_check_ca(authority.get()), 1);
    EXPECT_EQ(X509_check_ca(charlie.get()), 0);
    EXPECT_EQ(X509_verify(david.get(), X509_get0_pubkey(authority.get())), 1);
    EXPECT_EQ(X509_verify(charlie.get(), X509_get0_pubkey(authority.get())), 1);
    EXPECT_EQ(X509_check_purpose(david.get(), X509_PURPOSE_SSL_SERVER, 0), 1);
    EXPECT_EQ(X509_check_purpose(david.get(), X509_PURPOSE_SSL_CLIENT, 0), 0);
    EXPECT_EQ(X509_check_purpose(charlie.get(), X509_PURPOSE_SSL_CLIENT, 0), 1);
    EXPECT_EQ(X509_check_purpose(charlie.get(), X509_PURPOSE_SSL_SERVER, 0), 0);
    EXPECT_TRUE(has_role(david.get(), Role::david));
    EXPECT_FALSE(has_role(david.get(), Role::charlie));
    EXPECT_TRUE(has_role(charlie.get(), Role::charlie));
    EXPECT_FALSE(has_role(authority.get(), Role::david));
    EXPECT_NE(ASN1_INTEGER_cmp(X509_get0_serialNumber(david.get()),
                               X509_get0_serialNumber(charlie.get())),
              0);
}

TEST(Keys, SESS_10_what_the_certificates_say) {
    const fs::path out = Deployments::path() / "ours";
    const Certificate authority = read_certificate(out / "ca/cert.pem");
    EXPECT_EQ(X509_get_pathlen(authority.get()), 0);
    EXPECT_EQ(X509_get_key_usage(authority.get()), std::uint32_t{KU_KEY_CERT_SIGN});
    EXPECT_EQ(X509_get_extended_key_usage(authority.get()), UINT32_MAX) << "none";
    for (const auto& [role, usage] :
         {std::pair{Role::charlie, XKU_SSL_CLIENT}, std::pair{Role::david, XKU_SSL_SERVER}}) {
        const Certificate leaf = read_certificate(out / name_of(role) / "cert.pem");
        EXPECT_EQ(X509_get_version(leaf.get()), X509_VERSION_3);
        EXPECT_EQ(X509_get_signature_nid(leaf.get()), NID_ecdsa_with_SHA256);
        EXPECT_EQ(X509_get_key_usage(leaf.get()), std::uint32_t{KU_DIGITAL_SIGNATURE});
        EXPECT_EQ(X509_get_extended_key_usage(leaf.get()), static_cast<std::uint32_t>(usage));
        for (const int id : {NID_basic_constraints, NID_key_usage}) {
            const int place = X509_get_ext_by_NID(leaf.get(), id, -1);
            ASSERT_GE(place, 0);
            EXPECT_EQ(X509_EXTENSION_get_critical(X509_get_ext(leaf.get(), place)), 1);
        }
    }
}

TEST(Keys, SESS_7_a_role_needs_both_names) {
    const Certificate certificate =
        read_certificate(Deployments::path() / "ours" / "david" / "cert.pem");
    X509_NAME* subject = X509_get_subject_name(certificate.get());
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>("charlie"), -1, -1, 0);
    EXPECT_FALSE(has_role(certificate.get(), Role::david)) << "two common names";
    X509_NAME_ENTRY_free(X509_NAME_delete_entry(subject, 0));
    EXPECT_FALSE(has_role(certificate.get(), Role::david)) << "common name charlie";
    EXPECT_FALSE(has_role(certificate.get(), Role::charlie)) << "alternative name david";
}

TEST(Keys, THREAT_2_an_existing_folder_is_left_alone) {
    const TemporaryFolder folder;
    const fs::path out = folder.path() / "keys";
    make_keys(out);
    const std::string before = text_of(out / "ca/key.pem");
    EXPECT_THROW(make_keys(out), BadInput);
    EXPECT_EQ(text_of(out / "ca/key.pem"), before);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1)
        << "nothing half-written stays";
}

// ---- renewal

Validity leaves_that_end_in(std::chrono::hours time) {
    return {.begins = -2400h, .authority_ends = 24h * 100, .leaf_ends = time};
}

std::time_t end_of(X509* certificate) {
    std::tm fields{};
    EXPECT_EQ(ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &fields), 1);
    return ::timegm(&fields);
}

TEST(Keys, SESS_10_a_renewed_certificate_is_of_the_same_key_and_authority) {
    const TemporaryFolder folder;
    const fs::path out = folder / "keys";
    make_keys(out, leaves_that_end_in(-24h));
    const Certificate authority = read_certificate(out / "ca/cert.pem");
    for (const char* party : {"charlie", "david"}) {
        const fs::path path = out / party / "cert.pem";
        const Certificate before = read_certificate(path);
        renew_keys(out, {.leaf_ends = 24h * 50});
        const Certificate after = read_certificate(path);
        EXPECT_EQ(EVP_PKEY_eq(X509_get0_pubkey(after.get()), X509_get0_pubkey(before.get())), 1);
        EXPECT_EQ(X509_verify(after.get(), X509_get0_pubkey(authority.get())), 1);
        EXPECT_NE(ASN1_INTEGER_cmp(X509_get0_serialNumber(after.get()),
                                   X509_get0_serialNumber(before.get())),
                  0);
        EXPECT_NEAR(static_cast<double>(end_of(after.get()) - std::time(nullptr)), 86400.0 * 50,
                    600);
        EXPECT_EQ(mode_of(path), 0644U);
        EXPECT_TRUE(
            has_role(after.get(), party == std::string("david") ? Role::david : Role::charlie));
    }
    const Model model(shapes, Fill::random, 1);
    Party david{out / "david", {generous, generous}};
    Party charlie{out / "charlie", {generous, generous}};
    RunningServer server(model, david);
    Client client(model, server.endpoint(), charlie);
    EXPECT_TRUE(works(client, model));
}

TEST(Keys, SESS_10_a_renewed_certificate_does_not_outlive_its_authority) {
    const TemporaryFolder folder;
    const fs::path out = folder / "keys";
    make_keys(out, leaves_that_end_in(24h));
    renew_keys(out);  // would be two years
    for (const char* party : {"charlie", "david"}) {
        EXPECT_EQ(end_of(read_certificate(out / party / "cert.pem").get()),
                  end_of(read_certificate(out / "ca/cert.pem").get()));
    }
}

TEST(Keys, SESS_10_an_authority_that_ends_soon_renews_nothing) {
    const TemporaryFolder folder;
    const fs::path out = folder / "keys";
    make_keys(out, {.authority_ends = 24h * 29, .leaf_ends = 24h});
    const std::string before = text_of(out / "david/cert.pem");
    EXPECT_NE(refusal([&] { renew_keys(out); }).find("make a new deployment"), std::string::npos);
    EXPECT_EQ(text_of(out / "david/cert.pem"), before);
}

std::vector<base::Finding> found_in(const fs::path& keys, std::time_t now) {
    base::Findings findings;
    examine_keys(keys, now, findings);
    return findings.all();
}

/// Whether there is a finding of this level that says both.
bool says(const std::vector<base::Finding>& findings, base::Finding::Level level,
          const std::string& place, const std::string& text) {
    return std::any_of(findings.begin(), findings.end(), [&](const base::Finding& finding) {
        return finding.level == level && finding.text.find(place) != std::string::npos &&
               finding.text.find(text) != std::string::npos;
    });
}

TEST(ExaminedKeys, SESS_7_what_is_whole_has_no_error_and_folders_are_known_by_their_files) {
    const fs::path ours = Deployments::path() / "ours";
    EXPECT_TRUE(holds_key_folders(ours));
    EXPECT_FALSE(is_key_folder(ours)) << "it only holds them";
    EXPECT_TRUE(is_key_folder(ours / "david"));
    EXPECT_FALSE(holds_key_folders(ours / "david"));
    using Level = base::Finding::Level;
    const auto findings = found_in(ours, std::time(nullptr));
    for (const char* party : {"ca", "charlie", "david"}) {
        EXPECT_TRUE(says(findings, Level::note, party, "valid until")) << party;
    }
    for (const base::Finding& finding : findings) {
        EXPECT_NE(finding.level, Level::error) << finding.text;
    }
    const TemporaryFolder folder;
    fs::copy(ours / "david", folder / "moved", fs::copy_options::recursive);
    EXPECT_TRUE(
        says(found_in(folder / "moved", std::time(nullptr)), Level::note, "moved", "valid until"))
        << "a folder that was renamed";
}

TEST(ExaminedKeys, SESS_7_what_is_over_or_not_yet_valid_or_another_authoritys_is_an_error) {
    using Level = base::Finding::Level;
    const std::time_t now = std::time(nullptr);
    EXPECT_TRUE(
        says(found_in(Deployments::path() / "expired", now), Level::error, "david", "expired on"));
    EXPECT_TRUE(says(found_in(Deployments::path() / "future", now), Level::error, "charlie",
                     "not valid before"));
    const TemporaryFolder folder;
    const fs::path mixed = folder / "mixed";
    fs::copy(Deployments::path() / "ours", mixed, fs::copy_options::recursive);
    fs::remove_all(mixed / "david");
    EXPECT_TRUE(says(found_in(mixed, now), Level::note, "david", "is not here"));
    fs::copy(Deployments::path() / "theirs/david", mixed / "david", fs::copy_options::recursive);
    const auto findings = found_in(mixed, now);
    EXPECT_TRUE(says(findings, Level::error, "david", "")) << "issued by another authority";
    fs::permissions(mixed / "charlie/key.pem", fs::perms::others_read, fs::perm_options::add);
    EXPECT_TRUE(says(found_in(mixed, now), Level::error, "charlie", "key.pem"));
}

}  // namespace
}  // namespace slip::testing
