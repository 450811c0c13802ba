// What the machine does per second at most, for bounds on what is measured beside them.
#pragma once

namespace slip::bench {

/// Bytes, or multiplications, per second of one processor.
struct MachineRates {
    double aes_ctr = 0;  // AES-256-CTR of a long message
    double aes_gcm = 0;  // AES-256-GCM in records of TLS
    double shake = 0;    // SHAKE-128
    /// Fused multiplications of doubles; 0 where the backend's leaves have no vectors for them.
    double multiplications = 0;
};

MachineRates measure_machine_rates();

}  // namespace slip::bench
