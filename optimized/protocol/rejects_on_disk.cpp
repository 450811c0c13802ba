#include "optimized/protocol/rejects_on_disk.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <span>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/files.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/protocol/state_folder.hpp"

namespace slip::protocol {
namespace {

using base::OpenFile;
using std::chrono::nanoseconds;

constexpr std::size_t boot_length = 36;
constexpr const char* unknown_boot = "00000000-0000-0000-0000-000000000000";
/// The least count with the longest delay.
constexpr std::uint64_t full_count = 7;
static_assert(delay_after(full_count) == longest_delay &&
              delay_after(full_count - 1) < longest_delay);

struct stat status_of(const OpenFile& file, const std::filesystem::path& path) {
    struct stat status {};
    if (::fstat(file.descriptor(), &status) != 0) {
        base::refuse_with_reason(path, "cannot be examined");
    }
    return status;
}

}  // namespace

nanoseconds HostTime::system_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

std::string HostTime::system_boot() {
    constexpr const char* file = "/proc/sys/kernel/random/boot_id";
    std::array<char, boot_length> text{};
    const OpenFile opened(base::Disk::of_system().open(file, O_RDONLY, 0));
    if (!opened.is_open() ||
        !base::read_all(base::Disk::of_system(), opened, std::as_writable_bytes(std::span(text)))) {
        base::refuse_with_reason(file, "cannot be read");
    }
    return {text.begin(), text.end()};
}

DelaysInMemory& DelaysInMemory::of_process() {
    static DelaysInMemory delays;
    return delays;
}

nanoseconds DelaysInMemory::allowed_from(const std::filesystem::path& folder, nanoseconds now) {
    const std::lock_guard lock(mutex_);
    return allowed_from_.emplace(folder, now + longest_delay).first->second;
}

void DelaysInMemory::restart(const std::filesystem::path& folder, nanoseconds now) {
    const std::lock_guard lock(mutex_);
    allowed_from_[folder] = now + longest_delay;
}

RejectsOnDisk::RejectsOnDisk(std::filesystem::path folder, HostTime time, base::Disk& disk,
                             DelaysInMemory& memory)
    : folder_(std::move(folder)), time_(std::move(time)), disk_(disk), memory_(memory) {}

/// Of one length always, so that writing it over another needs no space on the disk.
std::string RejectsOnDisk::text_of(const Record& record) {
    std::array<char, 160> text{};
    const int length = std::snprintf(
        text.data(), text.size(),
        "slip rejects 1\ncount %020" PRIu64 "\nboot %.36s\nnanoseconds %020" PRIu64 "\n",
        record.count, record.boot.c_str(), static_cast<std::uint64_t>(record.at.count()));
    return {text.data(), static_cast<std::size_t>(length)};
}

std::optional<RejectsOnDisk::Record> RejectsOnDisk::record_in(const std::string& text) {
    Record record;
    std::array<char, boot_length + 1> boot{};
    std::uint64_t at = 0;
    const int fields = std::sscanf(
        text.c_str(), "slip rejects 1\ncount %20" SCNu64 "\nboot %36s\nnanoseconds %20" SCNu64,
        &record.count, boot.data(), &at);
    record.boot = boot.data();
    record.at = nanoseconds(static_cast<std::int64_t>(at));
    const bool named = record.boot.find_first_not_of("0123456789abcdef-") == std::string::npos;
    if (fields != 3 || !named || record.at.count() < 0 || text_of(record) != text) {
        return std::nullopt;
    }
    return record;
}

std::string RejectsOnDisk::no_rejects() { return text_of({0, unknown_boot, {}}); }

/// Throws BadInput, as everything below, if the disk refuses, and for a folder in which others
/// could set the count back. The lock orders processes; a file that was removed while this one
/// waited for the lock is not the count any more.
OpenFile RejectsOnDisk::open_locked() const {
    const std::filesystem::path path = folder_ / file_name;
    require_private_folder(folder_);
    while (true) {
        OpenFile file(disk_.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
                                 base::parameters::secret_file_mode));
        if (!file.is_open()) base::refuse_with_reason(path, "cannot be opened");
        if (disk_.lock(file.descriptor(), true) != 0) {
            base::refuse_with_reason(path, "cannot be locked");
        }
        if (status_of(file, path).st_nlink > 0) return file;
    }
}

std::optional<RejectsOnDisk::Record> RejectsOnDisk::read(const OpenFile& file) const {
    std::string text(no_rejects().size(), '\0');
    const auto size = static_cast<std::size_t>(status_of(file, folder_ / file_name).st_size);
    if (size != text.size()) return std::nullopt;
    if (!base::read_all(disk_, file, std::as_writable_bytes(std::span(text)))) {
        base::refuse_with_reason(folder_ / file_name, "cannot be read");
    }
    return record_in(text);
}

void RejectsOnDisk::write(const OpenFile& file, const Record& record) const {
    const std::string text = text_of(record);
    if (!base::write_all(disk_, file, std::as_bytes(std::span(text))) ||
        disk_.truncate(file.descriptor(), text.size()) != 0 || disk_.sync(file.descriptor()) != 0 ||
        !base::sync_folder(disk_, folder_)) {
        base::refuse_with_reason(folder_ / file_name, "cannot be written");
    }
}

/// What the file says. If that is nothing, or an instant that has not come, it is written anew.
RejectsOnDisk::Record RejectsOnDisk::read_or_restart(const OpenFile& file) const {
    Record now{full_count, time_.boot(), time_.now()};
    const auto record = read(file);
    if (record && (record->boot != now.boot || record->at <= now.at)) return *record;
    write(file, now);
    return now;
}

nanoseconds RejectsOnDisk::left_by_file() const {
    const OpenFile file = open_locked();
    const Record record = read_or_restart(file);
    if (record.count == 0) return {};
    const bool same_boot = record.boot == time_.boot();
    const nanoseconds allowed =
        same_boot ? record.at + delay_after(record.count) : nanoseconds(longest_delay);
    return std::max(allowed - time_.now(), nanoseconds(0));
}

RejectsOnDisk::Wait RejectsOnDisk::wait() const {
    try {
        return {left_by_file(), {}};
    } catch (const BadInput& trouble) {
        const nanoseconds now = time_.now();
        const nanoseconds left = memory_.allowed_from(folder_, now) - now;
        return {std::max(left, nanoseconds(0)), trouble.what()};
    }
}

void RejectsOnDisk::require_allowed(const std::string& /*peer*/) const {
    const Wait now = wait();
    if (now.left == nanoseconds(0)) return;
    const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(now.left).count();
    const std::string why = now.trouble.empty()
                                ? "a wrong reply was received over this artifact"
                                : now.trouble + ", so that wrong replies cannot be counted";
    throw ProtocolError(why + "; no new session for " + std::to_string(milliseconds) + " ms");
}

void RejectsOnDisk::record_reject(const std::string& /*peer*/) noexcept {
    memory_.restart(folder_, time_.now());  // should the file fail now or later
    try {
        const OpenFile file = open_locked();
        Record record = read_or_restart(file);
        write(file, {std::max(record.count, record.count + 1), time_.boot(), time_.now()});
    } catch (const Error&) {
        disk_.unlink(folder_ / file_name);
        base::sync_folder(disk_, folder_);
    }
}

}  // namespace slip::protocol
