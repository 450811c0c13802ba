#include "optimized/net/key_folders.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/net/tls_connection.hpp"

namespace slip::net {
namespace {

namespace fs = std::filesystem;
using base::Findings;

constexpr const char* certificate_file = "cert.pem";
constexpr const char* key_file = "key.pem";
constexpr const char* authority_file = "ca.pem";
constexpr std::time_t day = std::time_t{24} * 60 * 60;
constexpr std::time_t soon = 30 * day;

using Store = std::unique_ptr<X509_STORE, Deleter<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Deleter<X509_STORE_CTX_free>>;

[[noreturn]] void fail(const fs::path& path, const std::string& what) {
    throw BadInput(path.string() + ": " + what);
}

/// What `read` makes of a file in PEM, or BadInput that says what was expected.
template <class Object, class Read>
Object read_pem(const fs::path& path, const char* expected, const Read& read) {
    constexpr std::size_t most = std::size_t{1} << 20;
    std::string text = base::read_file(path, most);
    const Bio source(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
    Object object(read(source.get()));
    OPENSSL_cleanse(text.data(), text.size());  // it may be a key
    ERR_clear_error();
    if (object == nullptr) fail(path, std::string("is not ") + expected);
    return object;
}

Certificate read_certificate(const fs::path& path) {
    return read_pem<Certificate>(path, "a certificate", [](BIO* source) {
        return PEM_read_bio_X509(source, nullptr, nullptr, nullptr);
    });
}

/// An encrypted key is refused, not asked a password for.
Key read_key(const fs::path& path) {
    require_private(path);
    const auto no_password = [](char*, int, int, void*) { return -1; };
    return read_pem<Key>(path, "a private key", [&](BIO* source) {
        return PEM_read_bio_PrivateKey(source, nullptr, no_password, nullptr);
    });
}

Identity read_identity(const fs::path& folder) {
    Identity identity;
    identity.certificate = read_certificate(folder / certificate_file);
    identity.key = read_key(folder / key_file);
    if (X509_check_private_key(identity.certificate.get(), identity.key.get()) != 1) {
        ERR_clear_error();
        fail(folder / key_file, "is not the private key of " + std::string(certificate_file));
    }
    return identity;
}

void require_authority(X509* certificate, const fs::path& path) {
    if (X509_check_ca(certificate) != 1) fail(path, "is not the certificate of an authority");
}

void require_role(X509* certificate, Role role, const fs::path& path) {
    if (has_role(certificate, role)) return;
    fail(path, std::string("is not a certificate of role ") + name_of(role));
}

/// What TLS itself checks, but for the validity.
void require_chain(X509* authority, X509* certificate, const fs::path& path) {
    const Store store(X509_STORE_new());
    const StoreContext context(X509_STORE_CTX_new());
    base::require(store && context && X509_STORE_add_cert(store.get(), authority) == 1 &&
                      X509_STORE_CTX_init(context.get(), store.get(), certificate, nullptr) == 1,
                  "OpenSSL does not check a certificate");
    X509_VERIFY_PARAM* parameters = X509_STORE_CTX_get0_param(context.get());
    X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_NO_CHECK_TIME);
    X509_VERIFY_PARAM_set_depth(parameters, 1);
    const bool is_charlie = has_role(certificate, Role::charlie);
    X509_VERIFY_PARAM_set_purpose(parameters,
                                  is_charlie ? X509_PURPOSE_SSL_CLIENT : X509_PURPOSE_SSL_SERVER);
    if (X509_verify_cert(context.get()) == 1) return;
    const int reason = X509_STORE_CTX_get_error(context.get());
    ERR_clear_error();
    fail(path, "was not issued by " + std::string(authority_file) + ": " +
                   X509_verify_cert_error_string(reason));
}

std::time_t seconds_of(const ASN1_TIME* time) {
    std::tm fields{};
    ASN1_TIME_to_tm(time, &fields);
    return ::timegm(&fields);
}

std::string date_of(std::time_t time) {
    std::tm fields{};
    ::gmtime_r(&time, &fields);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d", &fields);
    return text.data();
}

void examine_validity(X509* certificate, const fs::path& path, std::time_t now,
                      Findings& findings) {
    const std::time_t begin = seconds_of(X509_get0_notBefore(certificate));
    const std::time_t end = seconds_of(X509_get0_notAfter(certificate));
    const std::string place = path.string() + ": ";
    if (now > end) {
        findings.error(place + "expired on " + date_of(end));
    } else if (now < begin) {
        findings.error(place + "is not valid before " + date_of(begin));
    } else if (end - now < soon) {
        findings.warn(place + "expires in " + std::to_string((end - now) / day) + " days, on " +
                      date_of(end));
    } else {
        findings.note(place + "valid until " + date_of(end));
    }
}

/// The certificate of a file, and what its validity says.
Certificate examine_certificate(const fs::path& path, std::time_t now, Findings& findings) {
    Certificate certificate;
    if (findings.examine([&] { certificate = read_certificate(path); })) {
        examine_validity(certificate.get(), path, now, findings);
    }
    return certificate;
}

void examine_authority(const fs::path& folder, std::time_t now, Findings& findings) {
    const fs::path path = folder / certificate_file;
    const Certificate certificate = examine_certificate(path, now, findings);
    if (certificate) findings.examine([&] { require_authority(certificate.get(), path); });
    findings.examine([&] { require_private(folder / key_file); });
    findings.examine([&] { read_authority(folder); });
}

/// The step that the party itself takes comes last: what it alone notices is found too.
void examine_party(const fs::path& folder, Role role, std::time_t now, Findings& findings) {
    const fs::path path = folder / certificate_file;
    const fs::path authority_path = folder / authority_file;
    const Certificate certificate = examine_certificate(path, now, findings);
    const Certificate authority = examine_certificate(authority_path, now, findings);
    if (authority) {
        findings.examine([&] { require_authority(authority.get(), authority_path); });
    }
    if (certificate) findings.examine([&] { require_role(certificate.get(), role, path); });
    if (certificate && authority) {
        findings.examine([&] { require_chain(authority.get(), certificate.get(), path); });
    }
    findings.examine([&] { require_private(folder / key_file); });
    findings.examine([&] { read_identity(folder); });
    const Role other = role == Role::charlie ? Role::david : Role::charlie;
    if (!findings.has_errors()) findings.examine([&] { make_context(folder, role, other); });
}

bool has(const fs::path& folder, const char* name) {
    std::error_code absent;
    return fs::exists(folder / name, absent);
}

/// One of the three folders. Its name says whose it is, or else its certificate, since the party it
/// was given to may have renamed it.
void examine_folder(const fs::path& folder, std::time_t now, Findings& findings) {
    const std::string name = folder.filename().string();
    if (name == "ca") return examine_authority(folder, now, findings);
    for (const Role role : every_role) {
        if (name == name_of(role)) return examine_party(folder, role, now, findings);
    }
    Certificate certificate;
    if (!findings.examine([&] { certificate = read_certificate(folder / certificate_file); }))
        return;
    if (X509_check_ca(certificate.get()) == 1) return examine_authority(folder, now, findings);
    const auto role = std::find_if(every_role.begin(), every_role.end(),
                                   [&](Role each) { return has_role(certificate.get(), each); });
    examine_party(folder, role == every_role.end() ? Role::charlie : *role, now, findings);
}

}  // namespace

void require_private(const fs::path& key) {
    struct stat status {};
    if (::stat(key.c_str(), &status) != 0) return;
    const mode_t others = status.st_mode & (S_IRWXG | S_IRWXO);
    if (others == 0 || (status.st_uid == 0 && others == S_IRGRP)) return;
    fail(key,
         "other users may use this private key: expected mode 0600, or 0640 where it belongs to "
         "root");
}

Identity read_authority(const fs::path& folder) {
    Identity authority = read_identity(folder);
    require_authority(authority.certificate.get(), folder / certificate_file);
    return authority;
}

Identity read_party(const fs::path& folder, Role role) {
    Identity party = read_identity(folder);
    require_role(party.certificate.get(), role, folder / certificate_file);
    return party;
}

void require_issued_by(X509* authority, const fs::path& folder) {
    const Certificate named = read_certificate(folder / authority_file);
    if (X509_cmp(named.get(), authority) != 0) {
        fail(folder / authority_file, "is not the authority of this deployment");
    }
    const Certificate certificate = read_certificate(folder / certificate_file);
    require_chain(authority, certificate.get(), folder / certificate_file);
}

void require_time_left(X509* certificate, const fs::path& path) {
    const std::time_t end = seconds_of(X509_get0_notAfter(certificate));
    if (end - std::time(nullptr) >= soon) return;
    fail(path, "ends on " + date_of(end) + ": make a new deployment with 'slip keys --out'");
}

bool is_key_folder(const fs::path& folder) {
    return has(folder, certificate_file) || has(folder, key_file) || has(folder, authority_file);
}

bool holds_key_folders(const fs::path& folder) {
    return is_key_folder(folder / "ca") ||
           std::any_of(every_role.begin(), every_role.end(),
                       [&](Role role) { return is_key_folder(folder / name_of(role)); });
}

void examine_keys(const fs::path& folder, std::time_t now, Findings& findings) {
    if (is_key_folder(folder)) {
        examine_folder(folder, now, findings);
        return;
    }
    for (const char* name : {"ca", "charlie", "david"}) {
        if (is_key_folder(folder / name)) {
            examine_folder(folder / name, now, findings);
        } else {
            findings.note((folder / name).string() + ": is not here");
        }
    }
    if (!is_key_folder(folder / "ca") || findings.has_errors()) return;
    const Identity authority = read_authority(folder / "ca");
    for (const Role role : every_role) {
        const fs::path party = folder / name_of(role);
        if (!is_key_folder(party)) continue;
        findings.examine([&] { require_issued_by(authority.certificate.get(), party); });
    }
}

}  // namespace slip::net
