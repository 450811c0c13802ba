// OpenSSL's objects, which free themselves. Private to this room.
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>

namespace slip::net {

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
using Bio = std::unique_ptr<BIO, Deleter<BIO_vfree>>;
using BioMethod = std::unique_ptr<BIO_METHOD, Deleter<BIO_meth_free>>;
using Ssl = std::unique_ptr<SSL, Deleter<SSL_free>>;

/// A party that holds a key and a certificate.
struct Identity {
    Key key;
    Certificate certificate;
};

}  // namespace slip::net
