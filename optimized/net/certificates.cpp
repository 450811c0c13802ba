#include "optimized/net/certificates.hpp"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <memory>
#include <string>
#include <string_view>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/parameters.hpp"

namespace slip::net {
namespace {

namespace parameters = base::parameters;

template <auto free_function>
struct Deleter {
    template <class T>
    void operator()(T* object) const {
        free_function(object);
    }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Deleter<X509_free>>;
using Number = std::unique_ptr<BIGNUM, Deleter<BN_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, Deleter<X509_EXTENSION_free>>;
using Output = std::unique_ptr<BIO, Deleter<BIO_vfree>>;

/// A party that holds a key and a certificate.
struct Identity {
    Key key;
    Certificate certificate;
};

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

/// Signs `certificate` for a fresh key. The issuer is `authority`, or itself if that is null.
Identity issue(Certificate certificate, const Identity* authority) {
    Key key(EVP_EC_gen("P-256"));
    check(key != nullptr && X509_set_pubkey(certificate.get(), key.get()) == 1);
    X509* issuer = authority ? authority->certificate.get() : certificate.get();
    check(X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer)) == 1);
    add_extension(certificate.get(), issuer, NID_subject_key_identifier, "hash");
    add_extension(certificate.get(), issuer, NID_authority_key_identifier, "keyid:always");
    EVP_PKEY* signer = authority ? authority->key.get() : key.get();
    check(X509_sign(certificate.get(), signer, EVP_sha256()) > 0);
    return {std::move(key), std::move(certificate)};
}

/// SESS-10.
Identity make_authority(const Validity& validity) {
    Certificate certificate = new_certificate(validity.begins, validity.authority_ends);
    X509* c = certificate.get();
    set_common_name(c, "SLIP deployment");
    add_extension(c, c, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
    add_extension(c, c, NID_key_usage, "critical,keyCertSign");
    return issue(std::move(certificate), nullptr);
}

/// SESS-10.
Identity make_leaf(Role role, const Identity& authority, const Validity& validity) {
    Certificate certificate = new_certificate(validity.begins, validity.leaf_ends);
    X509* c = certificate.get();
    X509* issuer = authority.certificate.get();
    const std::string name = name_of(role);
    set_common_name(c, name);
    add_extension(c, issuer, NID_basic_constraints, "critical,CA:FALSE");
    add_extension(c, issuer, NID_key_usage, "critical,digitalSignature");
    add_extension(c, issuer, NID_ext_key_usage,
                  role == Role::charlie ? "clientAuth" : "serverAuth");
    add_extension(c, issuer, NID_subject_alt_name, ("DNS:" + name).c_str());
    return issue(std::move(certificate), &authority);
}

/// What was written to `output`; it stays there and is wiped with it if that is secret memory.
std::string_view contents_of(BIO* output) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(output, &data);
    return {data, static_cast<std::size_t>(size)};
}

void write_certificate(const std::filesystem::path& path, X509* certificate) {
    const Output pem(BIO_new(BIO_s_mem()));
    check(pem != nullptr && PEM_write_bio_X509(pem.get(), certificate) == 1);
    base::write_file(path, contents_of(pem.get()), 0644);
}

void write_key(const std::filesystem::path& path, EVP_PKEY* key) {  // THREAT-2
    const Output pem(BIO_new(BIO_s_secmem()));                      // wiped when freed
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

const char* name_of(Role role) {
    if (role == Role::charlie) return "charlie";
    return role == Role::david ? "david" : "offline";
}

Role role_of(ServerRole server) {
    return server == ServerRole::david ? Role::david : Role::offline;
}

bool has_role(X509* certificate, Role role) {  // SESS-7
    const std::string name = name_of(role);
    return common_name(certificate) == name &&
           X509_check_host(certificate, name.c_str(), name.size(),
                           X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_WILDCARDS,
                           nullptr) == 1;
}

void make_keys(const std::filesystem::path& out, const Validity& validity) {
    base::StagedDirectory staged(out);
    const Identity authority = make_authority(validity);
    write_identity(staged.path() / "ca", authority);
    for (const Role role : {Role::charlie, Role::david, Role::offline}) {
        const auto folder = staged.path() / name_of(role);
        write_identity(folder, make_leaf(role, authority, validity));
        write_certificate(folder / "ca.pem", authority.certificate.get());
    }
    staged.commit();
}

}  // namespace slip::net

namespace slip {

void make_keys(const std::filesystem::path& out) { net::make_keys(out, net::Validity{}); }

}  // namespace slip
