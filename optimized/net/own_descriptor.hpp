// A descriptor of the system that closes itself.
#pragma once

#include <unistd.h>

#include <utility>

namespace slip::net {

/// A descriptor that is closed at the end.
class OwnDescriptor {
public:
    explicit OwnDescriptor(int number = -1) : number_(number) {}
    OwnDescriptor(OwnDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    OwnDescriptor& operator=(OwnDescriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~OwnDescriptor() {
        if (number_ >= 0) ::close(number_);
    }
    int number() const { return number_; }

private:
    int number_;
};

}  // namespace slip::net
