// The safetensors format: an 8-byte length, a JSON header, and the tensors' bytes. Read
// memory-mapped, checked completely before anything is used.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "optimized/base/files.hpp"
#include "optimized/import/tensors.hpp"

namespace slip::importing {

/// What a safetensors file says of itself. The tensors' bytes are views of the file's.
struct SafetensorsHeader {
    std::map<std::string, Tensor, std::less<>> tensors;
    std::map<std::string, std::string> metadata;
};

/// Checks the whole header of a file with these contents: length, JSON, dtypes, shapes, offsets
/// that tile the data without gaps, overlaps or overflow. Throws BadInput, naming `origin` and the
/// tensor.
SafetensorsHeader parse_safetensors(std::span<const std::byte> file,
                                    const std::filesystem::path& origin);

/// The tensors of a file in the order of their bytes, for whoever reads it once and in pieces.
/// `begin` is the file from its first byte to the end of the header. The header is checked as
/// above, but for the length of the data section, which is that of all tensors together.
std::vector<Tensor> tensors_in_order(std::span<const std::byte> begin,
                                     const std::filesystem::path& origin);

/// What the first 8 bytes of a file say: those of its header, which follows. Throws BadInput,
/// naming `origin`, if they are more than the format allows.
std::size_t safetensors_header_bytes(std::span<const std::byte, 8> begin,
                                     const std::filesystem::path& origin);

/// How a file with these tensors begins: the length and the header, up to the data section, which
/// starts at a multiple of 64 bytes and holds the tensors in this order. Their bytes are not looked
/// at. Requires that no name stands twice.
std::string encode_safetensors_header(const std::vector<Tensor>& tensors,
                                      const std::map<std::string, std::string>& metadata);

class SafetensorsFile {
public:
    /// Maps the file and checks it as parse_safetensors does. Throws BadInput, naming the file.
    explicit SafetensorsFile(const std::filesystem::path& path);

    /// Throws BadInput, naming file and tensor, if there is none.
    const Tensor& tensor(std::string_view name) const;
    bool contains(std::string_view name) const;
    const std::map<std::string, Tensor, std::less<>>& tensors() const { return header_.tensors; }
    const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
    const std::filesystem::path& path() const { return file_.path(); }
    std::span<const std::byte> bytes() const { return file_.bytes(); }
    void forget_pages() const { file_.forget_pages(); }

private:
    base::MappedFile file_;
    SafetensorsHeader header_;
};

/// Writes a new safetensors file piece by piece, so that no more than one piece need be in memory.
/// The data section starts at a multiple of 64 bytes. Declare wider element types first and every
/// tensor is aligned to its type. Destroyed without finish(), it leaves no file.
class SafetensorsWriter {
public:
    /// Names, element types and shapes of `tensors` are what the file will hold, in this order;
    /// their bytes are not looked at. `mode` as for write_file. Throws BadInput, naming the file,
    /// if the disk refuses.
    SafetensorsWriter(const std::filesystem::path& path, const std::vector<Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata, mode_t mode);
    /// The next bytes of the data section. Throws BadInput, naming the file, if the disk refuses.
    void append(std::span<const std::byte> bytes);
    /// Flushes to disk. Throws InternalError unless exactly the declared bytes were appended.
    void finish();

private:
    base::NewFile file_;
    std::size_t missing_ = 0;  // bytes of the data section not yet appended
};

/// A safetensors file whose tensors are written in any order, over several runs of a program.
/// Layout as for SafetensorsWriter. Nothing in the file says which tensors are there yet.
class SafetensorsAssembly {
public:
    /// Creates the file, or opens one with exactly this header. Throws BadInput, naming the file,
    /// if it has another one or the disk refuses.
    SafetensorsAssembly(const std::filesystem::path& path, const std::vector<Tensor>& tensors,
                        mode_t mode);
    /// Bytes of a tensor from `offset` on.
    void write(const std::string& name, std::span<const std::byte> bytes, std::size_t offset = 0);
    /// What write() has put there, now or in an earlier run. Throws BadInput, naming the file, if
    /// the disk refuses.
    void read(const std::string& name, std::span<std::byte> bytes, std::size_t offset) const;
    /// What was written is on the disk when this returns.
    void flush() { file_.flush(); }

private:
    std::size_t place_of(const std::string& name, std::size_t size, std::size_t offset) const;

    std::map<std::string, std::pair<std::size_t, std::size_t>> places_;  // begin, end in the file
    base::FixedFile file_;
};

/// Writes tensors in the order given, the data section starting at a multiple of 64 bytes. Write
/// wider element types first and every tensor is aligned to its type. `mode` as for write_file.
/// Throws BadInput, naming the file, if the disk refuses.
void write_safetensors(const std::filesystem::path& path, const std::vector<Tensor>& tensors,
                       const std::map<std::string, std::string>& metadata, mode_t mode);

}  // namespace slip::importing
