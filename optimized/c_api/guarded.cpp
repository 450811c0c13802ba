#include "optimized/c_api/guarded.hpp"

#include "slip/version.hpp"

namespace slip::c_api {
namespace {

thread_local std::string last_message;

}  // namespace

slip_status fail(slip_status status, const char* message) noexcept {
    try {
        last_message = message;
    } catch (...) {
        last_message.clear();  // no memory is left for the message
    }
    return status;
}

const char* last_error() noexcept { return last_message.c_str(); }

slip_status fail_with_current_exception() noexcept {
    try {
        throw;
    } catch (const StatusError& error) {
        return fail(error.status, error.what());
    } catch (const BadInput& error) {
        return fail(SLIP_BAD_INPUT, error.what());
    } catch (const IntegrityError& error) {
        return fail(SLIP_INTEGRITY_ERROR, error.what());
    } catch (const ProtocolError& error) {
        return fail(SLIP_PROTOCOL_ERROR, error.what());
    } catch (const Overloaded& error) {
        return fail(SLIP_OVERLOADED, error.what());
    } catch (const std::bad_alloc&) {
        return fail(SLIP_OUT_OF_MEMORY, "there is not enough memory");
    } catch (const std::exception& error) {
        return fail(SLIP_INTERNAL_ERROR, error.what());
    } catch (...) {
        return fail(SLIP_INTERNAL_ERROR, "an exception of an unknown type");
    }
}

}  // namespace slip::c_api

extern "C" {

const char* slip_last_error(void) { return slip::c_api::last_error(); }
const char* slip_library_version(void) { return slip::library_version(); }
}
