/** @file
 * SLIP for other languages: the C interface of libslip.
 *
 * Every function that can fail returns a slip_status, and leaves a message for people in
 * slip_last_error(). No C++ exception leaves it. Outputs are written on success only, but for the
 * counts of SLIP_BUFFER_TOO_SMALL.
 *
 * Handles are no addresses: they are never dereferenced and never used again, so that NULL, a freed
 * handle, and a handle of another type are refused with SLIP_INVALID_HANDLE, whatever else was
 * opened since. A handle may be freed while another thread is in a call with it: what is behind it
 * lives until that call ends.
 *
 * Paths and texts are UTF-8 and end with a NUL, unless a length is given. Where options are given
 * by a pointer, NULL and members that are 0 stand for the defaults. */
#ifndef SLIP_SLIP_H
#define SLIP_SLIP_H

#include <stddef.h>
#include <stdint.h>

#include "slip/version.h"

/** What libslip.so exports. */
#if defined(__GNUC__)
#define SLIP_C_API __attribute__((visibility("default")))
#else
#define SLIP_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What became of a call: the kinds of slip::Error, and what only this interface knows. */
typedef enum slip_status {
    SLIP_OK = 0,        /**< done */
    SLIP_BAD_INPUT = 1, /**< slip::BadInput: a file or an argument that the caller can correct */
    SLIP_PROTOCOL_ERROR = 2,  /**< slip::ProtocolError: the connection, or the peer */
    SLIP_INTEGRITY_ERROR = 3, /**< slip::IntegrityError: a wrong reply was rejected; further
                                   sessions with the same peer are SLIP_PROTOCOL_ERROR */
    SLIP_INTERNAL_ERROR = 4,  /**< slip::InternalError, or anything unexpected */
    SLIP_OUT_OF_MEMORY = 5,   /**< nothing was changed */
    SLIP_INVALID_HANDLE = 6,  /**< NULL, freed, or of another type */
    SLIP_BUSY = 7,            /**< another call uses the model, perhaps one that called back */
    SLIP_BUFFER_TOO_SMALL = 8 /**< the count that is needed was written */
} slip_status;

/** The message of this thread's last call that failed, "" before the first; valid until
 * the next. */
SLIP_C_API const char* slip_last_error(void);
/** SLIP_VERSION of the library that runs. */
SLIP_C_API const char* slip_library_version(void);

/** @name Models
 * One call at a time computes with a model; a second one is refused with SLIP_BUSY. Sizes, texts
 * and slip_free_* may be called at any time, also from a callback. */
/** @{ */

/** Behind it is a slip::LanguageModel. */
typedef struct slip_language_model slip_language_model;
/** Behind it is a slip::ImageClassifier. */
typedef struct slip_image_classifier slip_image_classifier;

/** Receives a line of text for the user; calls do not overlap. It must not throw or longjmp. */
typedef void (*slip_report)(void* context, const char* line);

/** slip::CharlieOptions and slip::TimeLimits. */
typedef struct slip_charlie_options {
    size_t masks_ready;   /**< masks per group that are kept ready */
    uint32_t timeout_ms;  /**< of a frame that has begun, a handshake, a connection */
    uint32_t patience_ms; /**< for the peer's next frame to begin */
    slip_report note;     /**< slip::CharlieOptions::note; may be NULL */
    void* note_context;   /**< of `note` */
    const char* seal;     /**< slip::CharlieOptions::seal, a path; NULL: nothing is sealed */
} slip_charlie_options;

/* The functions that open a model take a place for either kind, and set the one that fits, the
 * other to NULL. A kind that the caller does not expect gets NULL as its place: then a model of
 * that kind is SLIP_BAD_INPUT, before any connection is made. */

/** slip::open_checkpoint(): float32. */
SLIP_C_API slip_status slip_open_checkpoint(const char* path, slip_language_model** language,
                                            slip_image_classifier** images);
/** slip::open_unsplit(): the integer model of a split, without a protocol. `audit` is the folder of
 * a hidden split's integer model, or NULL. */
SLIP_C_API slip_status slip_open_unsplit(const char* artifact, const char* audit,
                                         slip_language_model** language,
                                         slip_image_classifier** images);
/** slip::open_charlie() over TLS: `endpoint` is "HOST:PORT", `certificates` the folder TLS/charlie.
 */
SLIP_C_API slip_status slip_open_charlie_tls(const char* artifact, const char* endpoint,
                                             const char* certificates,
                                             const slip_charlie_options* options,
                                             slip_language_model** language,
                                             slip_image_classifier** images);
/** slip::open_charlie() over descriptors (slip::open_pipe()); they are closed in every case. */
SLIP_C_API slip_status slip_open_charlie_fd(const char* artifact, int input, int output,
                                            const slip_charlie_options* options,
                                            slip_language_model** language,
                                            slip_image_classifier** images);
/** slip::open_charlie_in_process(): protects nothing; the time limits have no meaning. */
SLIP_C_API slip_status slip_open_charlie_in_process(const char* artifact,
                                                    const slip_charlie_options* options,
                                                    slip_language_model** language,
                                                    slip_image_classifier** images);

SLIP_C_API slip_status slip_free_language_model(slip_language_model* model);
SLIP_C_API slip_status slip_free_image_classifier(slip_image_classifier* model);

SLIP_C_API slip_status slip_vocabulary_size(const slip_language_model* model, size_t* count);
SLIP_C_API slip_status slip_max_positions(const slip_language_model* model, size_t* count);

/** slip::LanguageModel::encode_prompt() of `bytes` bytes. Up to `capacity` ids are written; *count
 * is how many there are, also with SLIP_BUFFER_TOO_SMALL. */
SLIP_C_API slip_status slip_encode_prompt(const slip_language_model* model, const char* text,
                                          size_t bytes, int32_t* ids, size_t capacity,
                                          size_t* count);
/** The same without BOS. */
SLIP_C_API slip_status slip_encode(const slip_language_model* model, const char* text, size_t bytes,
                                   int32_t* ids, size_t capacity, size_t* count);
/** slip::LanguageModel::continuation(); with no prompt, slip::LanguageModel::decode(). *bytes does
 * not count the NUL, which `capacity` has room for. */
SLIP_C_API slip_status slip_decode(const slip_language_model* model, const int32_t* prompt,
                                   size_t prompt_count, const int32_t* ids, size_t count,
                                   char* text, size_t capacity, size_t* bytes);

/** slip::SamplingOptions. */
typedef struct slip_sampling_options {
    size_t max_tokens;  /**< new ones */
    double temperature; /**< 0: always the likeliest token */
    uint64_t seed;      /**< of the random choices at a temperature above 0 */
} slip_sampling_options;

/** Sees each new id and the logits (as many as the vocabulary) that it was chosen from. Returns 0
 * to stop, anything else to go on. It must not throw or jump out. */
typedef int (*slip_on_token)(void* context, int32_t id, const float* logits, size_t logit_count);

/** slip::LanguageModel::generate(). `on_token` may be NULL. `ids` has room for options->max_tokens,
 * or is NULL; *count is how many were made. */
SLIP_C_API slip_status slip_generate(slip_language_model* model, const int32_t* prompt,
                                     size_t prompt_count, const slip_sampling_options* options,
                                     slip_on_token on_token, void* context, int32_t* ids,
                                     size_t* count);
/** slip::LanguageModel::forward(): `logits` has room for count x the vocabulary's size. */
SLIP_C_API slip_status slip_forward(slip_language_model* model, const int32_t* ids, size_t count,
                                    float* logits);

/** Elements of an image, and logits of its classes. */
SLIP_C_API slip_status slip_image_size(const slip_image_classifier* model, size_t* elements);
SLIP_C_API slip_status slip_class_count(const slip_image_classifier* model, size_t* count);
/** slip::ImageClassifier::classify(): `logits` has room for image_count x the classes. */
SLIP_C_API slip_status slip_classify(slip_image_classifier* model, const float* images,
                                     size_t image_count, float* logits);
/** @} */

/** @name David
 * A David may be used by any number of threads at a time. */
/** @{ */

/** Behind it is a slip::David. */
typedef struct slip_david slip_david;
/** Behind it is a slip::TlsServer. */
typedef struct slip_server slip_server;

/** slip::DavidOptions. */
typedef struct slip_david_options {
    size_t threads;       /**< that share a product */
    size_t max_sessions;  /**< of a server at one time */
    uint32_t timeout_ms;  /**< of a frame that has begun, and of a handshake */
    uint32_t patience_ms; /**< for the peer's next frame to begin */
} slip_david_options;

/** slip::David: `artifact` is OUT/david. */
SLIP_C_API slip_status slip_open_david(const char* artifact, const slip_david_options* options,
                                       slip_david** david);
/** Servers and sessions that were begun go on. */
SLIP_C_API slip_status slip_free_david(slip_david* david);
/** slip::David::serve(): one session over descriptors, which are closed in every case. Blocks until
 * its end. To cancel it, shut the other end down. */
SLIP_C_API slip_status slip_serve_fd(slip_david* david, int input, int output);

/** slip::TlsServer over `david`: `certificates` is the folder TLS/david. `report` receives the
 * errors of connections, from any thread; it may be NULL. Connections wait until slip_run_server().
 */
SLIP_C_API slip_status slip_open_server(slip_david* david, const char* endpoint,
                                        const char* certificates, slip_report report, void* context,
                                        slip_server** server);
SLIP_C_API slip_status slip_server_port(const slip_server* server, uint16_t* port);
/** Serves until slip_stop_server(), and until every session has ended. Once per server. */
SLIP_C_API slip_status slip_run_server(slip_server* server);
/** From any thread. */
SLIP_C_API slip_status slip_stop_server(slip_server* server);
/** Stops it, too. */
SLIP_C_API slip_status slip_free_server(slip_server* server);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
