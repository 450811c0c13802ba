// Answers the conformance vectors with optimized/: one JSON object per line on stdin, one on
// stdout. conformance/README.md describes the exchange and the operations. The functions and
// sessions of the product do the work; this program only converts JSON.
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "optimized/kernels/registry.hpp"
#include "property_tests/conformance/arithmetic.hpp"
#include "property_tests/conformance/artifacts.hpp"
#include "property_tests/conformance/hiding.hpp"
#include "property_tests/conformance/lattice.hpp"
#include "property_tests/conformance/sessions.hpp"
#include "property_tests/conformance/splitting.hpp"

namespace slip::answers {
namespace {

using Operations = std::map<std::string, std::function<Json(const Json&)>>;

const Operations& operations() {
    static const Operations table{
        {"embed", embed},
        {"lift", lift},
        {"ring_add", ring_add},
        {"ring_subtract", ring_subtract},
        {"ring_multiply", ring_multiply},
        {"residue_encode", residue_encode},
        {"residue_decode", residue_decode},
        {"sample", sample},
        {"draw_mask", draw_mask},
        {"draw_w", draw_w},
        {"mask", mask},
        {"unmask", unmask},
        {"cancellation", cancellation},
        {"david_product", david_product},
        {"low_rank", [](const Json& in) { return low_rank(in); }},
        {"integrity_s", integrity_s},
        {"integrity_check", integrity_check},
        {"quantise", quantise},
        {"dequantise", dequantise},
        {"round", round},
        {"activation_bound", activation_bound},
        {"modulus_bound", modulus_bound},
        {"product_bound", product_bound},
        {"plan", plan},
        {"retained_rank", retained_rank},
        {"row_scale", row_scale_of},
        {"integer_weights", integer_weights_of},
        {"decode_frame", decode_frame},
        {"encode_frame", encode_frame},
        {"david_session", david_session},
        {"charlie_session", charlie_session},
        {"model_transcript", model_transcript},
        {"load_artifact", load_artifact},
        {"public_residues", public_residues},
        {"small_integers", small_integers},
        {"public_matrix", public_matrix},
        {"lattice_block", lattice_block},
        {"unmask_lattice", unmask_lattice},
        {"product_secret", product_secret},
        {"product_check", product_check},
        {"lattice_bound", lattice_bound},
        {"largest_residual", largest_residual},
        {"hidden_width", hidden_width},
        {"column_parts", column_parts},
        {"hidden_model", hidden_model},
        {"hiding_key", hiding_key},
        {"weight_secret", weight_secret},
        {"weight_error", weight_error},
        {"public_weights", public_weights},
        {"hidden_matrix", hidden_matrix},
        {"remove_weight_secret", remove_weight_secret},
        {"unmask_hidden", unmask_hidden},
    };
    return table;
}

/// The set that a request names; where none matters, the first.
const parameters::ParameterSet* set_of(const Json& name) {
    if (name.is_null()) return &parameters::parameter_sets.front();
    const auto* set = parameters::set_named(name.get<std::string>());
    base::require(set != nullptr, "the set of the request exists");
    return set;
}

Json answer(const Json& request) {
    if (request["request"] == "hello") {
        return {{"name", std::string("slip, kernels ") + kernels::active().name},
                {"features",
                 {"david", "charlie", "arithmetic", "owner", "artifact", "lattice", "hidden"}}};
    }
    Json reply{{"id", request["id"]}};
    const auto operation = operations().find(request["operation"]);
    if (operation == operations().end()) {
        reply["result"] = "unimplemented";
        return reply;
    }
    set_of_case = set_of(request["set"]);
    try {
        reply["output"] = operation->second(request["input"]);
        reply["result"] = "valid";
    } catch (const Unimplemented&) {
        reply["result"] = "unimplemented";
    } catch (const Refused& refused) {
        reply["result"] = "invalid";
        reply["output"] = refused.output.is_null() ? Json::object() : refused.output;
    } catch (const ProtocolError&) {
        reply["result"] = "invalid";
    } catch (const BadInput&) {
        reply["result"] = "invalid";
    }
    return reply;
}

}  // namespace
}  // namespace slip::answers

int main() {
    std::ios::sync_with_stdio(false);  // a line may have 128 MiB
    for (std::string line; std::getline(std::cin, line);) {
        std::cout << slip::answers::answer(nlohmann::json::parse(line)) << std::endl;
    }
}
