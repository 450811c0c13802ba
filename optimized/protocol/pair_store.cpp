#include "optimized/protocol/pair_store.hpp"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/protocol/hex_names.hpp"

namespace slip::protocol {

namespace fs = std::filesystem;
using base::Disk;
using base::OpenFile;
using base::refuse_with_reason;

namespace {

constexpr std::size_t id_digits = 2 * name_bytes;

/// Digits of the SHA-256 at the end of the file.
std::string id_of(const Pair& pair) {
    const auto end = pair.file().last(32).first<name_bytes>();
    return hex(std::span<const std::uint8_t, name_bytes>(
        reinterpret_cast<const std::uint8_t*>(end.data()), name_bytes));
}

std::string file_name(const std::string& id, std::uint64_t returns, const char* state) {
    return id + "-" + std::to_string(returns) + "." + state;
}

/// Opens and locks a file; not open if another process holds the lock.
OpenFile open_locked(Disk& disk, const fs::path& path) {
    OpenFile file(disk.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0));
    if (file.is_open() && disk.lock(file.descriptor(), false) != 0) return OpenFile();
    return file;
}

bool is_linked(const OpenFile& file) {
    struct stat status {};
    return ::fstat(file.descriptor(), &status) == 0 && status.st_nlink > 0;
}

}  // namespace

/// The parts of the name of a pair's file.
struct PairStore::Name {
    std::string file;
    std::string id;
    std::uint64_t returns = 0;
    std::string state;  // free, taken or new

    /// Empty for other files.
    static std::optional<Name> parse(const std::string& file) {
        Name name{file, file.substr(0, id_digits), 0, {}};
        const bool hexadecimal = name.id.find_first_not_of("0123456789abcdef") == std::string::npos;
        if (file.size() < id_digits + 2 || !hexadecimal) return std::nullopt;
        const char* const end = file.data() + file.size();
        const auto number = std::from_chars(file.data() + id_digits + 1, end, name.returns);
        if (number.ec != std::errc{}) return std::nullopt;
        name.state = std::string(std::min(number.ptr + 1, end), end);
        if (file_name(name.id, name.returns, name.state.c_str()) != file) return std::nullopt;
        const bool known = name.state == "free" || name.state == "taken" || name.state == "new";
        return known ? std::optional(name) : std::nullopt;
    }
};

TakenPair::TakenPair(Pair&& pair, OpenFile&& file, fs::path path, std::uint64_t returns, Disk& disk)
    : pair_(std::move(pair)),
      file_(std::move(file)),
      path_(std::move(path)),
      returns_(returns),
      disk_(disk),
      owner_(::getpid()),
      at_reject_(life_, [this] { remove(); }) {}

/// If the disk fails at a reject, the destructor tries again.
void TakenPair::remove() noexcept {
    if (::getpid() != owner_) return;
    pair_.wipe();
    const bool unlinked = disk_.unlink(path_) == 0;
    deleted_ = base::sync_folder(disk_, path_.parent_path()) && unlinked;
}

TakenPair::~TakenPair() {
    if (::getpid() != owner_ || deleted_) return;  // still the parent's, or deleted
    const bool clean = !life_.over() && life_.pending() == 0 && returns_ < most_returns;
    if (!clean) {
        remove();
        return;
    }
    const fs::path home = path_.parent_path();
    disk_.rename(path_, home / file_name(id_of(pair_), returns_ + 1, "free"));
    base::sync_folder(disk_, home);
}

PairStore::PairStore(fs::path folder, PairSubject subject, Disk& disk)
    : folder_(std::move(folder)), subject_(std::move(subject)), disk_(disk) {
    delete_abandoned();
}

std::vector<PairStore::Name> PairStore::names() const {
    std::vector<Name> found;
    std::error_code error;
    for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
         entry.increment(error)) {
        if (auto name = Name::parse(entry->path().filename().string())) {
            found.push_back(*std::move(name));
        }
    }
    if (error) throw BadInput(folder_.string() + ": cannot be read: " + error.message());
    std::sort(found.begin(), found.end(),
              [](const Name& a, const Name& b) { return a.file < b.file; });
    return found;
}

/// No process uses a file that can be locked. A failure to delete it does no harm: only free pairs
/// are ever taken.
void PairStore::delete_abandoned() const {
    bool deleted = false;
    for (const Name& name : names()) {
        if (name.state == "free") continue;
        const OpenFile file = open_locked(disk_, folder_ / name.file);
        if (!file.is_open()) continue;
        deleted |= disk_.unlink(folder_ / name.file) == 0;
    }
    if (deleted) base::sync_folder(disk_, folder_);
}

/// Locks the file before it writes, so that no process deletes it as abandoned; false if one did,
/// between its creation and the lock.
bool PairStore::write_new(const fs::path& path, const Pair& pair) const {
    const fs::path free = folder_ / file_name(id_of(pair), 0, "free");
    const OpenFile file(disk_.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
                                   base::parameters::secret_file_mode));
    if (!file.is_open()) refuse_with_reason(path, "cannot be created");
    // delete_abandoned() of another process may have locked the file first, and deleted it.
    if (disk_.lock(file.descriptor(), true) == 0 && !is_linked(file)) return false;
    if (base::write_all(disk_, file, pair.file()) && disk_.sync(file.descriptor()) == 0 &&
        disk_.rename(path, free) == 0) {
        if (base::sync_folder(disk_, folder_)) return true;
    }
    const int reason = errno;
    disk_.unlink(path);
    disk_.unlink(free);
    errno = reason;
    refuse_with_reason(path, "cannot be written");
}

void PairStore::put(const Pair& pair) const {
    base::require(pair.subject() == subject_, "PairStore: a pair of another artifact");
    const fs::path path = folder_ / file_name(id_of(pair), 0, "new");
    while (!write_new(path, pair)) {
    }
}

std::size_t PairStore::free() const {
    const auto found = names();
    return static_cast<std::size_t>(std::count_if(
        found.begin(), found.end(), [](const Name& name) { return name.state == "free"; }));
}

std::unique_ptr<TakenPair> PairStore::take() const {
    for (const Name& name : names()) {
        if (name.state != "free") continue;
        if (auto pair = take(name)) return pair;
    }
    return nullptr;
}

/// Null if another process was faster, or the pair is of the other profile. Locks before it
/// renames: then no other process moves the file, and none ever finds it taken but unlocked.
std::unique_ptr<TakenPair> PairStore::take(const Name& name) const {
    const fs::path from = folder_ / name.file;
    OpenFile file(disk_.open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0));
    if (!file.is_open()) {
        if (errno == ENOENT) return nullptr;
        refuse_with_reason(from, "cannot be opened");
    }
    if (disk_.lock(file.descriptor(), false) != 0) {
        if (errno == EWOULDBLOCK) return nullptr;
        refuse_with_reason(from, "cannot be locked");
    }
    struct stat at_name {
    }, opened{};
    const bool same = ::lstat(from.c_str(), &at_name) == 0 &&
                      ::fstat(file.descriptor(), &opened) == 0 && at_name.st_ino == opened.st_ino;
    if (!same) return nullptr;  // taken, and perhaps returned, before this lock
    std::optional<Pair> pair = read(file, name);
    if (!pair) return nullptr;
    require_single(name);
    const fs::path to = folder_ / file_name(name.id, name.returns, "taken");
    take_durably(file, from, to);
    return std::unique_ptr<TakenPair>(
        new TakenPair(*std::move(pair), std::move(file), to, name.returns, disk_));
}

std::optional<Pair> PairStore::read(const OpenFile& file, const Name& name) const {
    const fs::path path = folder_ / name.file;
    struct stat status {};
    if (::fstat(file.descriptor(), &status) != 0) refuse_with_reason(path, "cannot be examined");
    if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
        (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        throw BadInput(path.string() +
                       ": holds a secret: expected a file of this user's alone, mode 0600; what "
                       "others could read is to be deleted");
    }
    const auto expected = Pair::file_bytes(subject_);
    base::SecretBuffer<std::byte> bytes(
        std::min(static_cast<std::size_t>(status.st_size), expected + 1));
    if (!base::read_all(disk_, file, bytes.span())) refuse_with_reason(path, "cannot be read");
    if (Pair::is_of_other_profile(bytes.span(), subject_)) return std::nullopt;
    Pair pair(std::move(bytes), subject_, path);
    if (id_of(pair) != name.id) {
        throw BadInput(path.string() +
                       ": is a copy under another name: a pair is moved, never copied; delete all "
                       "copies");
    }
    return pair;
}

/// Throws BadInput if a second file holds the pair that this process has locked. A file that was
/// listed and no longer exists was an earlier name of that pair.
void PairStore::require_single(const Name& name) const {
    for (const Name& other : names()) {
        if (other.id != name.id || other.file == name.file) continue;
        std::error_code unknown;
        if (!fs::exists(fs::symlink_status(folder_ / other.file, unknown))) continue;
        throw BadInput((folder_ / name.file).string() + ": is a copy of " + other.file +
                       ": a pair is moved, never copied; delete all copies");
    }
}

/// The pair may be used only once its new name is on the disk: after a power failure it would be
/// free again.
void PairStore::take_durably(const OpenFile& file, const fs::path& from, const fs::path& to) const {
    if (disk_.rename(from, to) != 0) refuse_with_reason(from, "cannot be taken");
    if (disk_.sync(file.descriptor()) == 0 && base::sync_folder(disk_, folder_)) return;
    const int reason = errno;
    if (disk_.rename(to, from) != 0) disk_.unlink(to);  // not used yet
    errno = reason;
    refuse_with_reason(from, "cannot be taken");
}

}  // namespace slip::protocol
