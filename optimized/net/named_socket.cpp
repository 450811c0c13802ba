#include "optimized/net/named_socket.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>

#include "optimized/base/error.hpp"

namespace slip::net {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds between_attempts{10};
constexpr std::size_t longest_name = sizeof(sockaddr_un::sun_path) - 1;

std::string text_of(int error) { return std::generic_category().message(error); }

sockaddr_un address_of(const fs::path& name) {
    const std::string& text = name.native();
    if (text.empty() || text.size() > longest_name) {
        throw BadInput("shm:" + text + ": expected the name of a socket, of 1 to " +
                       std::to_string(longest_name) + " bytes");
    }
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::copy(text.begin(), text.end(), address.sun_path);
    return address;
}

const sockaddr* pointer_to(const sockaddr_un& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

OwnDescriptor new_socket() {
    OwnDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (socket.number() < 0) throw ProtocolError("no socket can be made: " + text_of(errno));
    return socket;
}

fs::path folder_of(const fs::path& name) {
    return name.has_parent_path() ? name.parent_path() : fs::path(".");
}

/// Why users other than `user` could put a socket of theirs in the place of this one; empty: none
/// could, but root.
std::string open_to_others(const fs::path& name, uid_t user) {
    struct stat found {};
    if (::stat(folder_of(name).c_str(), &found) != 0) return "its folder: " + text_of(errno);
    if (found.st_uid != user) return "its folder belongs to another user than who listens";
    if ((found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return "other users may write in its folder, which 'chmod go-w' mends";
    }
    return "";
}

[[noreturn]] void cannot_listen(const fs::path& name, const std::string& why) {
    throw BadInput("cannot listen on shm:" + name.string() + ": " + why);
}

/// Whether a process listens at `name`, where there is a file of this user's: BadInput, or, if its
/// process is gone, the file is removed.
void require_stale(const fs::path& name, const sockaddr_un& address) {
    struct stat found {};
    if (::lstat(name.c_str(), &found) != 0) cannot_listen(name, text_of(errno));
    if (!S_ISSOCK(found.st_mode)) cannot_listen(name, "a file that is no socket has this name");
    const OwnDescriptor probe = new_socket();
    if (::connect(probe.number(), pointer_to(address), sizeof address) == 0 ||
        errno != ECONNREFUSED) {
        cannot_listen(name, "another process listens there");
    }
    if (::unlink(name.c_str()) != 0) cannot_listen(name, text_of(errno));
}

/// Of two who begin at once, the second must not take the first one's socket, which refuses
/// connections until it listens, for that of a process that is gone.
OwnDescriptor lock_of(const fs::path& name) {
    OwnDescriptor folder(::open(folder_of(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto deadline = Clock::now() + std::chrono::seconds(1);
    while (::flock(folder.number(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) cannot_listen(name, text_of(errno));
        if (Clock::now() >= deadline) cannot_listen(name, "another process has locked its folder");
        std::this_thread::sleep_for(between_attempts);
    }
    return folder;
}

}  // namespace

PeerProcess peer_process(const OwnDescriptor& socket) {
    ucred credentials{};
    socklen_t size = sizeof credentials;
    if (::getsockopt(socket.number(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
        throw ProtocolError("the peer's user is not known: " + text_of(errno));
    }
    return {credentials.pid, credentials.uid};
}

NamedListener::NamedListener(const fs::path& name, bool others)
    : name_(name), socket_(new_socket()) {
    const std::string open = open_to_others(name, ::geteuid());
    if (!open.empty()) cannot_listen(name, open);
    const OwnDescriptor lock = lock_of(name);
    bind();
    struct stat made {};
    const bool done = ::lstat(name.c_str(), &made) == 0 &&
                      (!others || ::chmod(name.c_str(), DEFFILEMODE) == 0) &&
                      ::listen(socket_.number(), SOMAXCONN) == 0;
    if (!done) cannot_listen(name, text_of(errno));
    device_ = made.st_dev;
    file_ = made.st_ino;
}

/// The file is this user's alone from its beginning.
void NamedListener::bind() {
    const sockaddr_un address = address_of(name_);
    const auto bound = [&] {
        return ::bind(socket_.number(), pointer_to(address), sizeof address) == 0;
    };
    if (::fchmod(socket_.number(), S_IRUSR | S_IWUSR) != 0) cannot_listen(name_, text_of(errno));
    if (bound()) return;
    if (errno == EADDRINUSE) {
        require_stale(name_, address);
        if (bound()) return;
    }
    cannot_listen(name_, text_of(errno));
}

NamedListener::~NamedListener() {
    struct stat found {};
    const bool ours =
        ::lstat(name_.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == file_;
    if (ours) ::unlink(name_.c_str());
}

OwnDescriptor connect_to(const fs::path& name, Clock::time_point deadline, int stop) {
    const sockaddr_un address = address_of(name);
    OwnDescriptor socket = new_socket();
    // EAGAIN: whoever listens has not accepted those who came before.
    while (::connect(socket.number(), pointer_to(address), sizeof address) != 0) {
        if (errno != EAGAIN) throw ProtocolError(text_of(errno));
        if (Clock::now() >= deadline) throw ProtocolError("the peer did not act in time");
        if (stop_asked(stop)) throw ProtocolError("the wait was called off");
        std::this_thread::sleep_for(between_attempts);
    }
    const std::string open = open_to_others(name, peer_process(socket).user);
    if (!open.empty()) throw ProtocolError(open);
    return socket;
}

}  // namespace slip::net
