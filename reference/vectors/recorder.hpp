// An honest David whose frames are kept, for vectors.
#pragma once

#include <vector>

#include "reference/session.hpp"

namespace slip::reference::vectors {

/// A channel to a David in the same program that keeps both directions.
class Recorder : public Channel {
public:
    explicit Recorder(DavidSession& david) : david_(david) {}

    void send(const Bytes& frame) override {
        sent.push_back(frame);
        if (auto answer = david_.receive(frame)) answers.push_back(*answer);
    }
    Bytes receive() override { return answers.back(); }

    std::vector<Bytes> sent, answers;

private:
    DavidSession& david_;
};

}  // namespace slip::reference::vectors
