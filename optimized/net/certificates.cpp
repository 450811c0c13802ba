#include "optimized/net/certificates.hpp"

#include <openssl/ec.h>
#include <openssl/pem.h>
#include <sys/stat.h>

#include <algorithm>
#include <list>
#include <string>
#include <string_view>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/net/key_folders.hpp"
#include "slip/tls.hpp"

namespace slip::net {
namespace {

namespace parameters = base::parameters;

/// OpenSSL fails here for want of memory or random numbers only.
void check(bool success) { base::require(success, "OpenSSL failed to make a certificate"); }

/// Version 3, a random serial of 127 bits, and the validity.
Certificate new_certificate(std::chrono::seconds begins, std::chrono::seconds ends) {
    Certificate certificate(X509_new());
    check(certificate != nullptr && X509_set_version(certificate.get(), X509_VERSION_3) == 1);
    const Number serial(BN_new());
    check(serial != nullptr &&
          BN_rand(serial.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1);
    check(BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate.get())) != nullptr);
    X509_gmtime_adj(X509_getm_notBefore(certificate.get()), begins.count());
    X509_gmtime_adj(X509_getm_notAfter(certificate.get()), ends.count());
    return certificate;
}

void set_common_name(X509* certificate, const std::string& name) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(name.c_str());
    check(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC, bytes,
                                     -1, -1, 0) == 1);
}

void add_extension(X509* certificate, X509* issuer, int id, const char* value) {
    X509V3_CTX context{};
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, id, value));
    check(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1);
}

Key new_key() {
    Key key(EVP_EC_gen("P-256"));
    check(key != nullptr);
    return key;
}

/// Completes `certificate`, of `key`, and signs it. The issuer may be the certificate itself.
void sign(X509* certificate, EVP_PKEY* key, X509* issuer, EVP_PKEY* signer) {
    check(X509_set_pubkey(certificate, key) == 1);
    check(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1);
    add_extension(certificate, issuer, NID_subject_key_identifier, "hash");
    add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always");
    check(X509_sign(certificate, signer, EVP_sha256()) > 0);
}

/// SESS-10.
Identity make_authority(const Validity& validity) {
    Identity authority{new_key(), new_certificate(validity.begins, validity.authority_ends)};
    X509* c = authority.certificate.get();
    set_common_name(c, "SLIP deployment");
    add_extension(c, c, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    add_extension(c, c, NID_key_usage, "critical,keyCertSign");
    sign(c, authority.key.get(), c, authority.key.get());
    return authority;
}

/// SESS-10. It does not outlive the authority, without which nobody would accept it.
Certificate make_leaf(Role role, EVP_PKEY* key, const Identity& authority,
                      const Validity& validity) {
    Certificate certificate = new_certificate(validity.begins, validity.leaf_ends);
    X509* c = certificate.get();
    X509* issuer = authority.certificate.get();
    const ASN1_TIME* end = X509_get0_notAfter(issuer);
    if (ASN1_TIME_compare(end, X509_get0_notAfter(c)) < 0) check(X509_set1_notAfter(c, end) == 1);
    const std::string name = name_of(role);
    set_common_name(c, name);
    add_extension(c, issuer, NID_basic_constraints, "critical,CA:FALSE");
    add_extension(c, issuer, NID_key_usage, "critical,digitalSignature");
    add_extension(c, issuer, NID_ext_key_usage,
                  role == Role::charlie ? "clientAuth" : "serverAuth");
    add_extension(c, issuer, NID_subject_alt_name, ("DNS:" + name).c_str());
    sign(c, key, issuer, authority.key.get());
    return certificate;
}

/// What was written to `output`; it stays there and is wiped with it if that is secret memory.
std::string_view contents_of(BIO* output) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(output, &data);
    return {data, static_cast<std::size_t>(size)};
}

/// Gives the certificate in PEM to `write`.
template <class Write>
void as_pem(X509* certificate, const Write& write) {
    const Bio pem(BIO_new(BIO_s_mem()));
    check(pem != nullptr && PEM_write_bio_X509(pem.get(), certificate) == 1);
    write(contents_of(pem.get()));
}

void write_certificate(const std::filesystem::path& path, X509* certificate) {
    as_pem(certificate,
           [&](std::string_view pem) { base::write_file(path, pem, base::public_file_mode); });
}

void write_key(const std::filesystem::path& path, EVP_PKEY* key) {  // THREAT-2
    const Bio pem(BIO_new(BIO_s_secmem()));                         // wiped when freed
    check(pem != nullptr &&
          PEM_write_bio_PrivateKey(pem.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
    base::write_file(path, contents_of(pem.get()), parameters::secret_file_mode);
}

void write_identity(const std::filesystem::path& folder, const Identity& identity) {
    if (::mkdir(folder.c_str(), parameters::secret_folder_mode) !=
        0) {  // THREAT-2: from the moment of its creation
        throw BadInput(folder.string() + ": cannot be created");
    }
    write_certificate(folder / "cert.pem", identity.certificate.get());
    write_key(folder / "key.pem", identity.key.get());
}

/// The subject's common name, or nothing unless there is exactly one.
std::string common_name(X509* certificate) {
    X509_NAME* subject = X509_get_subject_name(certificate);
    const int first = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (first < 0 || X509_NAME_get_index_by_NID(subject, NID_commonName, first) >= 0) return {};
    const ASN1_STRING* value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, first));
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
            static_cast<std::size_t>(ASN1_STRING_length(value))};
}

}  // namespace

const char* name_of(Role role) { return role == Role::charlie ? "charlie" : "david"; }

bool has_role(X509* certificate, Role role) {  // SESS-7
    const std::string name = name_of(role);
    return common_name(certificate) == name &&
           X509_check_host(certificate, name.c_str(), name.size(),
                           X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS,
                           nullptr) == 1;
}

void make_keys(const std::filesystem::path& out, const Validity& validity) {
    base::StagedFolder staged(out);
    const Identity authority = make_authority(validity);
    write_identity(staged.path() / "ca", authority);
    for (const Role role : every_role) {
        const auto folder = staged.path() / name_of(role);
        Identity party{new_key(), nullptr};
        party.certificate = make_leaf(role, party.key.get(), authority, validity);
        write_identity(folder, party);
        write_certificate(folder / "ca.pem", authority.certificate.get());
    }
    staged.commit();
}

void renew_keys(const std::filesystem::path& folder, const Validity& validity) {
    const Identity authority = read_authority(folder / "ca");
    require_time_left(authority.certificate.get(), folder / "ca" / "cert.pem");
    std::list<base::StagedFile> renewed;
    for (const Role role : every_role) {
        const auto party = folder / name_of(role);
        const Identity old = read_party(party, role);
        require_issued_by(authority.certificate.get(), party);
        auto& file = renewed.emplace_back(party / "cert.pem", base::StagedFile::Existing::replace,
                                          base::public_file_mode);
        as_pem(make_leaf(role, old.key.get(), authority, validity).get(),
               [&](std::string_view pem) { file.append(std::as_bytes(std::span(pem))); });
    }
    // Each is valid beside the other's older one, so it does not matter in which moment this ends.
    for (base::StagedFile& file : renewed) file.commit();
}

}  // namespace slip::net

namespace slip {

void make_keys(const std::filesystem::path& out) { net::make_keys(out, net::Validity{}); }
void renew_keys(const std::filesystem::path& folder) { net::renew_keys(folder, net::Validity{}); }

}  // namespace slip
