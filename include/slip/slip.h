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
 * Paths and texts are UTF-8 and end with a NUL, unless a length is given. A path may have other
 * bytes, as files may; a message that names them then has them too.
 *
 * Options are given by a pointer to a struct whose first member is the struct's size, as the
 * caller's compiler knows it, so that later versions can add members behind the others:
 *
 *     slip_sampling_options options = {.size = sizeof options, .max_tokens = 100};
 *
 * Members that are 0, or that the caller's version does not have, stand for the defaults; so does
 * NULL, except where something has no default. SLIP_BAD_INPUT for a size that was never set, which
 * is one below sizeof(size_t) or above 4096, and for members that the library does not have and
 * that are not 0. */
#ifndef SLIP_SLIP_H
#define SLIP_SLIP_H

#include <stddef.h>
#include <stdint.h>

#include "slip/version.h"

#if defined(__GNUC__)
/** What libslip.so exports. A compiler warns of a call that ignores what it returns: without
 * SLIP_OK its outputs mean nothing. */
#define SLIP_C_API __attribute__((visibility("default"), warn_unused_result))
/** The same for what ends something, whose status may be ignored. */
#define SLIP_C_END __attribute__((visibility("default")))
#else
#define SLIP_C_API
#define SLIP_C_END
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** What became of a call: the kinds of slip::Error, and what only this interface knows. */
typedef enum slip_status {
    SLIP_OK = 0,        /**< done */
    SLIP_BAD_INPUT = 1, /**< slip::BadInput: a file or an argument that the caller can correct */
    SLIP_PROTOCOL_ERROR = 2,   /**< slip::ProtocolError: the connection, or the peer */
    SLIP_INTEGRITY_ERROR = 3,  /**< slip::IntegrityError: a wrong reply was rejected; further
                                    sessions with the same peer are SLIP_PROTOCOL_ERROR */
    SLIP_INTERNAL_ERROR = 4,   /**< slip::InternalError, or anything unexpected */
    SLIP_OUT_OF_MEMORY = 5,    /**< nothing was changed */
    SLIP_INVALID_HANDLE = 6,   /**< NULL, freed, or of another type */
    SLIP_BUSY = 7,             /**< another call uses the model, perhaps one that called back */
    SLIP_BUFFER_TOO_SMALL = 8, /**< the count that is needed was written */
    SLIP_OVERLOADED = 9,       /**< slip::Overloaded: the same may be asked again later */
    SLIP_STOPPED = 10          /**< a callback of the caller's said so */
} slip_status;

/** The message of this thread's last call that failed, "" before the first; valid until
 * the next. */
SLIP_C_API const char* slip_last_error(void);
/** SLIP_VERSION of the library that runs. */
SLIP_C_API const char* slip_library_version(void);

/** Receives a line of text for the user. It must not throw or longjmp. */
typedef void (*slip_report)(void* context, const char* line);

/** @name Models
 * One call at a time computes with a model; a second one is refused with SLIP_BUSY. Sizes, texts
 * and slip_free_* may be called at any time, also from a callback. */
/** @{ */

/** Behind it is a slip::LanguageModel. */
typedef struct slip_language_model slip_language_model;
/** Behind it is a slip::ImageClassifier. */
typedef struct slip_image_classifier slip_image_classifier;

/** slip::CharlieOptions and slip::TimeLimits. */
typedef struct slip_charlie_options {
    size_t size;            /**< sizeof(slip_charlie_options) */
    size_t masks_ready;     /**< slip::CharlieOptions::masks_ready: uniform masks per group, 1 to
                                 65536; 0: 64 */
    size_t mask_memory;     /**< slip::CharlieOptions::mask_memory: bytes for lattice masks */
    uint32_t timeout_ms;    /**< of a frame that has begun, a handshake, a connection */
    uint32_t patience_ms;   /**< for the peer's next frame to begin */
    uint32_t busy_limit_ms; /**< how long a busy David is asked again over TLS; 0: once */
    slip_report note;       /**< slip::CharlieOptions::note; its calls do not overlap */
    void* note_context;     /**< of `note` */
    const char* seal;       /**< slip::CharlieOptions::seal, a path; NULL: nothing is sealed */
} slip_charlie_options;

/* The functions that open a model take a place for either kind, and set the one that fits, the
 * other to NULL. A kind that the caller does not expect gets NULL as its place: then a model of
 * that kind is SLIP_BAD_INPUT, before any connection is made. */

/** slip::open_checkpoint(): float32. `path` is a Hugging Face folder, a GGUF file or an ONNX
 * file. */
SLIP_C_API slip_status slip_open_checkpoint(const char* path, slip_language_model** language,
                                            slip_image_classifier** images);
/** slip::open_unsplit(): the integer model of a split, without a protocol. `audit` is the folder of
 * a hidden split's integer model, or NULL. */
SLIP_C_API slip_status slip_open_unsplit(const char* artifact, const char* audit,
                                         slip_language_model** language,
                                         slip_image_classifier** images);
/** slip::open_charlie() over TLS: `endpoint` is "HOST:PORT", or of a split in shards one for each,
 * with commas between them, `certificates` the folder TLS/charlie. */
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

/** Ends its session in order, once nothing uses it any more. */
SLIP_C_END slip_status slip_free_language_model(slip_language_model* model);
/** Ends its session in order. */
SLIP_C_END slip_status slip_free_image_classifier(slip_image_classifier* model);

/** slip::RunStatistics: what the runs of a model have cost since it was opened. What does not apply
 * is 0. The caller sets `size`; members that its compiler does not know are not written. */
typedef struct slip_run_statistics {
    size_t size;                      /**< sizeof(slip_run_statistics) */
    uint64_t rounds;                  /**< messages to David, each with its reply */
    uint64_t columns;                 /**< columns of all messages to David */
    uint64_t bytes_up;                /**< to David */
    uint64_t bytes_down;              /**< from David */
    uint64_t checks;                  /**< replies that passed the integrity check */
    double charlie_seconds;           /**< processor time of Charlie's online work */
    double round_seconds;             /**< that Charlie waited for replies */
    double david_seconds;             /**< of the products of a David in this process */
    double offline_seconds;           /**< processor time for masks */
    double late_seconds;              /**< offline_seconds of masks that messages made themselves */
    double mask_wait_seconds;         /**< until messages had masks that were not ready */
    uint64_t charlie_multiplications; /**< online */
    uint64_t david_multiplications;   /**< online */
    uint64_t offline_multiplications; /**< Charlie's, for the masks that were used */
    uint64_t masks_made;              /**< by all sessions of the model, since this one began */
    uint64_t masks_used;              /**< by the same sessions; one per column of a message */
    uint64_t masks_waited_for;        /**< masks that messages had to wait for */
} slip_run_statistics;

/** slip::LanguageModel::statistics(). SLIP_BUSY while another call computes with the model, and in
 * a scheduler, which slip_get_scheduler_statistics() asks. */
SLIP_C_API slip_status slip_get_language_statistics(slip_language_model* model,
                                                    slip_run_statistics* statistics);
/** slip::ImageClassifier::statistics(). SLIP_BUSY while another call computes with the model. */
SLIP_C_API slip_status slip_get_image_statistics(slip_image_classifier* model,
                                                 slip_run_statistics* statistics);

/** slip::LanguageModel::vocabulary_size(): ids are 0 to *count - 1. */
SLIP_C_API slip_status slip_vocabulary_size(const slip_language_model* model, size_t* count);
/** slip::LanguageModel::max_positions(): the longest sequence, in tokens. */
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

/** What is added to the logits of a token. */
typedef struct slip_token_bias {
    int32_t id;  /**< of the token */
    double bias; /**< what is added */
} slip_token_bias;

/** slip::SamplingOptions, with its defaults. */
typedef struct slip_sampling_options {
    size_t size;               /**< sizeof(slip_sampling_options) */
    size_t max_tokens;         /**< new tokens at most; 0: only the prompt is validated */
    double temperature;        /**< 0: always the likeliest token */
    uint64_t seed;             /**< of the random choices at a temperature above 0 */
    size_t top_k;              /**< how many of the likeliest stay; 0: all */
    double top_p;              /**< only the fewest likeliest of this probability; 0: all */
    double min_p;              /**< only those with this share of the likeliest's; 0: all */
    double repetition_penalty; /**< divides logits of tokens that stand there already; 0: 1 */
    double presence_penalty;   /**< subtracted from logits of tokens that were generated */
    double frequency_penalty;  /**< the same, for each time */
    const slip_token_bias* logit_bias; /**< added to logits before anything else */
    size_t logit_bias_count;           /**< how many `logit_bias` has */
    size_t guesses; /**< tokens that are guessed and verified in one message; not in a scheduler */
} slip_sampling_options;

/** Sees each new id and the logits (as many as the vocabulary) that it was chosen from. Returns 0
 * to stop, anything else to go on. It must not throw or jump out. */
typedef int (*slip_on_token)(void* context, int32_t id, const float* logits, size_t logit_count);

/** slip::LanguageModel::generate(). `options` is not NULL; `on_token` may be. `ids` has room for
 * options->max_tokens, or is NULL; *count is how many were made. */
SLIP_C_API slip_status slip_generate(slip_language_model* model, const int32_t* prompt,
                                     size_t prompt_count, const slip_sampling_options* options,
                                     slip_on_token on_token, void* context, int32_t* ids,
                                     size_t* count);
/** slip::LanguageModel::forward(): `logits` has room for count x the vocabulary's size. */
SLIP_C_API slip_status slip_forward(slip_language_model* model, const int32_t* ids, size_t count,
                                    float* logits);

/** Elements of an image. */
SLIP_C_API slip_status slip_image_size(const slip_image_classifier* model, size_t* elements);
/** slip::ImageClassifier::class_count(): logits of an image. */
SLIP_C_API slip_status slip_class_count(const slip_image_classifier* model, size_t* count);
/** slip::ImageClassifier::classify(): `logits` has room for image_count x the classes. */
SLIP_C_API slip_status slip_classify(slip_image_classifier* model, const float* images,
                                     size_t image_count, float* logits);
/** @} */

/** @name Conversations
 * What is opened here refers to its model, which may be freed meanwhile, and cannot be given to a
 * scheduler meanwhile. */
/** @{ */

/** Behind it is a slip::Sequence. */
typedef struct slip_sequence slip_sequence;

/** slip::Sequence: generations of `model` that go on where the last one ended. */
SLIP_C_API slip_status slip_open_sequence(slip_language_model* model, slip_sequence** sequence);
/** slip::Sequence::generate(), otherwise as slip_generate(). */
SLIP_C_API slip_status slip_generate_in_sequence(slip_sequence* sequence, const int32_t* prompt,
                                                 size_t prompt_count,
                                                 const slip_sampling_options* options,
                                                 slip_on_token on_token, void* context,
                                                 int32_t* ids, size_t* count);
/** Its model is left as it is. */
SLIP_C_END slip_status slip_free_sequence(slip_sequence* sequence);

/** Behind it is a slip::TextStream. */
typedef struct slip_text_stream slip_text_stream;

/** slip::TextStream of a generation that continues `prompt`, up to the first of `stops`. */
SLIP_C_API slip_status slip_open_text_stream(slip_language_model* model, const int32_t* prompt,
                                             size_t prompt_count, const char* const* stops,
                                             size_t stop_count, slip_text_stream** stream);
/** slip::TextStream::push(): *text gets the *bytes bytes that `id` completes, and a NUL behind
 * them, valid until the next call with the stream; *stopped is 1 if a stop has come, else 0. */
SLIP_C_API slip_status slip_push_token(slip_text_stream* stream, int32_t id, const char** text,
                                       size_t* bytes, int* stopped);
/** slip::TextStream::finish(): what is left, as slip_push_token() gives it. */
SLIP_C_API slip_status slip_finish_text(slip_text_stream* stream, const char** text, size_t* bytes);
/** Its model is left as it is. */
SLIP_C_END slip_status slip_free_text_stream(slip_text_stream* stream);

/** Whose words a message is. */
typedef enum slip_role { SLIP_SYSTEM = 0, SLIP_USER = 1, SLIP_ASSISTANT = 2 } slip_role;

/** One message of a conversation. */
typedef struct slip_chat_message {
    slip_role role;   /**< whose it is */
    const char* text; /**< special tokens in it are not interpreted */
} slip_chat_message;

/** slip::ChatFormat::encode(): the ids up to where the assistant's next answer begins. `format` is
 * one of slip::ChatFormat::names(), or NULL for that of the model's template. `ids`, `capacity` and
 * `count` are as in slip_encode_prompt(); *end_of_answer gets the token that ends an answer. */
SLIP_C_API slip_status slip_encode_chat(const slip_language_model* model, const char* format,
                                        const slip_chat_message* messages, size_t message_count,
                                        int32_t* ids, size_t capacity, size_t* count,
                                        int32_t* end_of_answer);
/** @} */

/** @name Many generations at once
 * A scheduler's functions may be called by any number of threads at a time, also from its
 * callbacks, but for those that wait for them: these are SLIP_BUSY there. */
/** @{ */

/** Behind it is a slip::Scheduler. */
typedef struct slip_scheduler slip_scheduler;

/** slip::SchedulerOptions, with its defaults. */
typedef struct slip_scheduler_options {
    size_t size;                   /**< sizeof(slip_scheduler_options) */
    size_t live;                   /**< generations in one message */
    size_t waiting;                /**< generations that are not live yet; more are refused */
    size_t waiting_per_tenant;     /**< waiting generations of one tenant; more are refused */
    size_t prompt_tokens_per_step; /**< tokens of prompts in one step */
    size_t guesses;                /**< tokens that each generation guesses at a time, 0 to 15 */
    size_t guess_columns;          /**< columns of answers up to which a step has guesses */
    size_t kept_prompt_bytes;   /**< bytes of keys and values that are kept; see keeps_no_prompts */
    size_t kept_prompt_tenants; /**< tenants among whom kept_prompt_bytes are divided */
    uint32_t reopen_limit_ms;   /**< how long a lost David is awaited; see ends_when_lost */
    slip_report note;           /**< slip::SchedulerOptions::note, in the scheduler's thread */
    void* note_context;         /**< of `note` */
    int keeps_no_prompts;       /**< 1: no keys and values are kept; kept_prompt_bytes is 0 */
    int ends_when_lost;         /**< 1: generations end when David is lost; reopen_limit_ms is 0 */
} slip_scheduler_options;

/** slip::Scheduler: takes the model. With its handle, texts and sizes can still be asked for, as
 * long as the scheduler is not freed; to compute with it is SLIP_BUSY from now on. */
SLIP_C_API slip_status slip_open_scheduler(slip_language_model* model,
                                           const slip_scheduler_options* options,
                                           slip_scheduler** scheduler);
/** Cancels what is live or waiting, and ends the session in order. */
SLIP_C_END slip_status slip_free_scheduler(slip_scheduler* scheduler);

/** slip::GenerationEnd::Reason. */
typedef enum slip_end_reason {
    SLIP_END_OF_TEXT = 0,   /**< the model chose EOS, or its grammar allows nothing more */
    SLIP_END_LENGTH = 1,    /**< max_tokens */
    SLIP_END_STOPPED = 2,   /**< `on_token` returned 0 */
    SLIP_END_CANCELLED = 3, /**< by slip_cancel(), or the scheduler was freed */
    SLIP_END_FAILED = 4     /**< see the status and the message */
} slip_end_reason;

/** slip::GenerationEnd with its slip::Receipt. Later versions add members behind these. */
typedef struct slip_generation_end {
    slip_end_reason reason;           /**< why it ended */
    slip_status status;               /**< SLIP_OK unless it failed */
    const char* message;              /**< of the failure, for people; "" otherwise */
    double waited_seconds;            /**< before it became live */
    uint64_t prompt_tokens;           /**< tokens of the prompt */
    uint64_t cached_tokens;           /**< tokens of the prompt that were not computed again */
    uint64_t generated_tokens;        /**< tokens given to `on_token` */
    uint64_t rounds;                  /**< messages that held columns of this generation */
    uint64_t checks;                  /**< replies to these messages that passed the check */
    uint64_t bytes_up;                /**< to David, its share */
    uint64_t bytes_down;              /**< from David, its share */
    uint64_t repeated_steps;          /**< steps repeated after a David was lost */
    uint64_t charlie_multiplications; /**< online, its share */
    uint64_t david_multiplications;   /**< online, its share */
} slip_generation_end;

/** Called once, after the last token. `end` is valid during the call. It must not throw or jump
 * out. */
typedef void (*slip_on_end)(void* context, const slip_generation_end* end);

/** slip::GenerationRequest, and who is told of it. */
typedef struct slip_generation_request {
    size_t size;                           /**< sizeof(slip_generation_request) */
    const int32_t* prompt;                 /**< as slip_generate() takes it */
    size_t prompt_count;                   /**< how many ids `prompt` has */
    const slip_sampling_options* sampling; /**< of this generation; not NULL */
    const char* tenant;                    /**< slip::GenerationRequest::tenant; NULL: nobody */
    const char* gbnf;        /**< slip::Grammar::from_gbnf() of the new text; NULL: any text */
    const char* json_schema; /**< or slip::Grammar::from_json_schema(); NULL: any text */
    const int32_t* ends;     /**< with a grammar: tokens besides EOS where the text may end */
    size_t ends_count;       /**< how many ids `ends` has */
    slip_on_token on_token;  /**< in the scheduler's thread, which it must not hold up */
    slip_on_end on_end;      /**< in the scheduler's thread */
    void* context;           /**< the first argument of both functions */
} slip_generation_request;

/** slip::Scheduler::submit(). What the request points to may go away when this returns. *id names
 * the generation; `id` may be NULL. SLIP_OVERLOADED if too many wait already. */
SLIP_C_API slip_status slip_submit(slip_scheduler* scheduler,
                                   const slip_generation_request* request, uint64_t* id);
/** slip::Scheduler::cancel(). */
SLIP_C_END slip_status slip_cancel(slip_scheduler* scheduler, uint64_t id);
/** slip::Scheduler::drain(): takes no further generations; returns when all have ended. */
SLIP_C_API slip_status slip_drain(slip_scheduler* scheduler);

/** slip::SchedulerStatistics without its `run`. The caller sets `size`; members that its compiler
 * does not know are not written. */
typedef struct slip_scheduler_statistics {
    size_t size;               /**< sizeof(slip_scheduler_statistics) */
    int serving;               /**< 1: a session is open, or the model needs none */
    int damaged;               /**< 1: no generation can be computed any more */
    size_t live;               /**< generations in the next step */
    size_t waiting;            /**< generations that are not live yet */
    uint64_t generations;      /**< generations that have ended */
    uint64_t prompt_tokens;    /**< tokens of prompts that were computed */
    uint64_t cached_tokens;    /**< tokens of prompts that were not computed again */
    uint64_t generated_tokens; /**< tokens that were generated */
    uint64_t sessions;         /**< sessions that were opened, the first among them */
    uint64_t rejects;          /**< wrong replies */
    size_t stock_tokens;       /**< tokens for which every group has masks in stock */
    size_t full_stock_tokens;  /**< stock_tokens when the stock is full; 0: there is no stock */
} slip_scheduler_statistics;

/** slip::Scheduler::statistics(), as they are at one time: `run` gets those of its model, of all
 * sessions together, or is NULL. */
SLIP_C_API slip_status slip_get_scheduler_statistics(slip_scheduler* scheduler,
                                                     slip_scheduler_statistics* statistics,
                                                     slip_run_statistics* run);
/** @} */

/** @name Splitting */
/** @{ */

/** slip::SplitProgress. Later versions add members behind these. */
typedef struct slip_split_progress {
    size_t finished;         /**< matrices */
    size_t matrices;         /**< of the whole model */
    size_t finished_weights; /**< entries of the finished matrices */
    size_t weights;          /**< entries of all matrices */
    const char* name;        /**< of the matrix that was just finished; "" at the start */
} slip_split_progress;

/** Sees how far a split is. Returns 0 to stop it, anything else to go on. It must not throw or jump
 * out. */
typedef int (*slip_on_progress)(void* context, const slip_split_progress* progress);

/** slip::SplitOptions: what the hidden split, and the paper's with one rank or a plan, need. */
typedef struct slip_split_options {
    size_t size;         /**< sizeof(slip_split_options) */
    const char* set;     /**< of parameters (PARAM-1); NULL: slip::SplitOptions::set's default */
    const char* plan;    /**< the file of a plan (DECO-6); NULL: none */
    size_t rank;         /**< without a plan: slip::uniform_plan() of this rank; 0: no plan */
    size_t threads;      /**< 0: all of the machine's */
    int paper_attention; /**< 1: slip::Attention::paper */
    int accept_grid;     /**< 1: slip::SplitOptions::accept_grid */
    const char* audit;   /**< slip::SplitOptions::audit, a folder to make; NULL: none */
    const char* seal;    /**< slip::SplitOptions::seal, a file; NULL: nothing is sealed */
    slip_on_progress on_progress; /**< called at the start and after every matrix */
    slip_report note;             /**< gets the notes that slip::split_checkpoint() returns */
    void* context;                /**< the first argument of both functions */
    size_t shards;                /**< slip::SplitOptions::shards; 0: one */
} slip_split_options;

/** slip::split_checkpoint(): splits `model`, a Hugging Face folder, a GGUF file or an ONNX file,
 * into OUT/charlie and OUT/david; `out` must not exist. SLIP_STOPPED if `on_progress` returned 0;
 * nothing stays then. */
SLIP_C_API slip_status slip_split(const char* model, const char* out,
                                  const slip_split_options* options);
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
    size_t size;          /**< sizeof(slip_david_options) */
    size_t threads;       /**< that share a product; 0: all of the machine's */
    size_t max_sessions;  /**< of a server at one time */
    uint32_t timeout_ms;  /**< of a frame that has begun, and of a handshake */
    uint32_t patience_ms; /**< for the peer's next frame to begin */
    int gpu;              /**< 1: slip::DavidOptions::gpu */
} slip_david_options;

/** slip::David: `artifact` is OUT/david. */
SLIP_C_API slip_status slip_open_david(const char* artifact, const slip_david_options* options,
                                       slip_david** david);
/** Servers and sessions that were begun go on. */
SLIP_C_END slip_status slip_free_david(slip_david* david);
/** slip::David::serve(): one session over descriptors, which are closed in every case. Blocks until
 * its end. To cancel it, shut the other end down. */
SLIP_C_API slip_status slip_serve_fd(slip_david* david, int input, int output);

/** slip::TlsServer over `david`: `certificates` is the folder TLS/david. `report` receives the
 * errors of connections, from any thread; it may be NULL. Connections wait until slip_run_server().
 */
SLIP_C_API slip_status slip_open_server(slip_david* david, const char* endpoint,
                                        const char* certificates, slip_report report, void* context,
                                        slip_server** server);
/** The port that it listens at, also where port 0 was asked for. */
SLIP_C_API slip_status slip_server_port(const slip_server* server, uint16_t* port);
/** Serves until slip_stop_server(), and until every session has ended. Once per server. */
SLIP_C_API slip_status slip_run_server(slip_server* server);
/** slip::TlsServer::reload(), from any thread: reads the certificates again, for connections that
 * come from now on. If they are not usable, SLIP_BAD_INPUT names the file and the old ones stay. */
SLIP_C_API slip_status slip_reload_server(slip_server* server);
/** Ends slip_run_server(). May be called from any thread. */
SLIP_C_END slip_status slip_stop_server(slip_server* server);
/** Stops the server first, if it runs. */
SLIP_C_END slip_status slip_free_server(slip_server* server);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
