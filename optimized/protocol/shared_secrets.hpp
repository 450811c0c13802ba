// What sessions with lattice masks share: spec/masking.md, spec/hiding.md.
#pragma once

namespace slip::masks {
class LatticeStock;
}
namespace slip::secrets {
class ProductCheck;
class WeightSecrets;
}  // namespace slip::secrets

namespace slip::protocol {

/// Of a loaded model, in which some group has lattice masks; all null where none has.
struct SharedSecrets {
    masks::LatticeStock* stock = nullptr;
    const secrets::ProductCheck* product_check = nullptr;  // MASK-10
    /// The secrets of the hidden split (HIDE-1); null in other sets.
    const secrets::WeightSecrets* secrets = nullptr;
};

}  // namespace slip::protocol
