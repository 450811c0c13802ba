// SERVE-16: JSON, and the schemas of it that are supported.
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "optimized/grammar/rules.hpp"
#include "optimized/import/json.hpp"
#include "slip/error.hpp"

namespace slip::grammar {
namespace {

using Json = nlohmann::ordered_json;  // properties stand in the order of the schema

/// White space is little, so that no model goes on with it for ever. Half of a surrogate pair is no
/// character: \ud83d\ude00 is written as the character itself.
constexpr const char* json_grammar = R"(
json-space ::= ( " " | "\n" [ \t]{0,20} )?
json-character ::= [^"\\\x00-\x1f] | "\\" ( ["\\/bfnrt] |
    "u" ( [0-9a-cA-Ce-fE-F] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2} ) )
json-string ::= "\"" json-character* "\""
json-integer ::= "-"? ( "0" | [1-9] [0-9]{0,15} )
json-number ::= json-integer ( "." [0-9]{1,15} )? ( [eE] [-+]? [0-9]{1,2} )?
json-boolean ::= "true" | "false"
json-null ::= "null"
json-member ::= json-string json-space ":" json-space json-value
json-object ::= "{" json-space ( json-member ( json-space "," json-space json-member )* json-space )? "}"
json-array ::= "[" json-space ( json-value ( json-space "," json-space json-value )* json-space )? "]"
json-value ::= json-object | json-array | json-string | json-number | json-boolean | json-null
)";

Expression space() { return rule("json-space"); }

class Schemas {
public:
    Schemas(const Json& root, std::string name)
        : root_(root), name_(std::move(name)), rules_(json_rules()) {}

    Rules rules() {
        rules_[name_] = rule(named("#"));
        while (!open_.empty()) {
            const std::string reference = open_.back();
            open_.pop_back();
            rules_[names_.at(reference)] = value_of(target(reference), reference);
        }
        return std::move(rules_);
    }

private:
    [[noreturn]] static void refuse(const std::string& where, const std::string& what) {
        throw BadInput("the schema, " + where + ": " + what);
    }

    /// The rule of what a reference leads to, which is made once.
    std::string named(const std::string& reference) {
        const auto [found, fresh] =
            names_.emplace(reference, name_ + "-schema-" + std::to_string(names_.size()));
        if (fresh) open_.push_back(reference);
        return found->second;
    }

    const Json& target(const std::string& reference) const {
        if (!reference.starts_with('#')) refuse(reference, "expected a reference within it");
        try {
            return root_.at(Json::json_pointer(reference.substr(1)));
        } catch (const Json::exception&) {
            refuse(reference, "there is nothing");
        }
    }

    /// `known`: what is read of the schema; annotations change nothing.
    static void require_known(const Json& schema, const std::string& where,
                              const std::set<std::string>& known) {
        static const std::set<std::string> annotations{
            "title",   "description", "default",   "examples", "deprecated", "readOnly",
            "$schema", "$id",         "writeOnly", "$comment", "$defs",      "definitions"};
        for (const auto& [name, value] : schema.items()) {
            if (annotations.contains(name) || known.contains(name)) continue;
            refuse(where, "'" + name + "' is not supported here");
        }
    }

    Expression value_of(const Json& schema, const std::string& where) {
        if (schema.is_boolean() && schema.get<bool>()) return rule("json-value");
        if (!schema.is_object()) refuse(where, "expected an object");
        if (schema.contains("$ref")) {
            require_known(schema, where, {"$ref"});
            if (!schema.at("$ref").is_string()) refuse(where, "'$ref': expected a string");
            return rule(named(schema.at("$ref").get<std::string>()));
        }
        if (schema.contains("anyOf")) {
            require_known(schema, where, {"anyOf"});
            std::vector<Expression> parts;
            const Json& list = array(schema, "anyOf", where);
            parts.reserve(list.size());
            for (std::size_t i = 0; i < list.size(); ++i)
                parts.push_back(value_of(list[i], where + "/anyOf/" + std::to_string(i)));
            return choice(std::move(parts));
        }
        if (schema.contains("const")) {
            require_known(schema, where, {"const", "type"});
            return literals(Json::array({schema.at("const")}), schema, where);
        }
        if (schema.contains("enum")) {
            require_known(schema, where, {"enum", "type"});
            return literals(array(schema, "enum", where), schema, where);
        }
        std::vector<Expression> parts;
        for (const std::string& type : types_of(schema, where))
            parts.push_back(of_type(type, schema, where));
        if (!parts.empty()) return choice(std::move(parts));
        require_known(schema, where, {});
        return rule("json-value");
    }

    static const Json& array(const Json& schema, const char* name, const std::string& where) {
        const Json& list = schema.at(name);
        if (!list.is_array() || list.empty())
            refuse(where, "'" + std::string(name) + "': expected a list");
        return list;
    }

    /// None: any.
    static std::vector<std::string> types_of(const Json& schema, const std::string& where) {
        if (!schema.contains("type")) {
            if (schema.contains("properties")) return {"object"};
            if (schema.contains("items")) return {"array"};
            return {};
        }
        const Json& type = schema.at("type");
        const Json list = type.is_array() ? type : Json::array({type});
        std::vector<std::string> types;
        for (const Json& each : list) {
            if (!each.is_string()) refuse(where, "'type': expected a name, or a list of names");
            types.push_back(each.get<std::string>());
        }
        if (types.empty()) refuse(where, "'type': expected at least one");
        return types;
    }

    static bool has_type(const Json& value, const std::string& type) {
        if (type == "string") return value.is_string();
        if (type == "integer") return value.is_number_integer();
        if (type == "number") return value.is_number();
        if (type == "boolean") return value.is_boolean();
        if (type == "null") return value.is_null();
        if (type == "object") return value.is_object();
        return type == "array" && value.is_array();
    }

    static Expression literals(const Json& values, const Json& schema, const std::string& where) {
        const auto types = types_of(schema, where);
        std::vector<Expression> parts;
        for (const Json& value : values) {
            const bool fits = std::any_of(types.begin(), types.end(), [&](const std::string& type) {
                return has_type(value, type);
            });
            if (fits || types.empty()) parts.push_back(bytes(value.dump()));
        }
        if (parts.empty()) refuse(where, "none of its values has its type");
        return choice(std::move(parts));
    }

    static std::size_t limit(const Json& schema, const char* name, std::size_t otherwise,
                             const std::string& where) {
        if (!schema.contains(name)) return otherwise;
        const auto* const value = schema.at(name).get_ptr<const Json::number_unsigned_t*>();
        if (value != nullptr && *value <= 32768) return *value;
        refuse(where, "'" + std::string(name) + "': expected an integer from 0 to 32768");
    }

    Expression of_type(const std::string& type, const Json& schema, const std::string& where) {
        constexpr std::array plain{"integer", "number", "boolean", "null"};
        static const std::set<std::string> of_all{
            "type",      "properties",  "required", "additionalProperties",
            "items",     "prefixItems", "minItems", "maxItems",
            "minLength", "maxLength"};
        require_known(schema, where, of_all);
        if (type == "object") return object(schema, where);
        if (type == "array") return list(schema, where);
        if (type == "string") {
            const std::size_t least = limit(schema, "minLength", 0, where);
            const std::size_t most = limit(schema, "maxLength", Expression::unlimited, where);
            if (most < least) refuse(where, "'maxLength' is below 'minLength'");
            return sequence(
                {bytes("\""), repeat(rule("json-character"), least, most), bytes("\"")});
        }
        if (std::find(plain.begin(), plain.end(), type) != plain.end()) return rule("json-" + type);
        refuse(where, "'type': there is no type " + type);
    }

    Expression list(const Json& schema, const std::string& where) {
        if (schema.contains("prefixItems")) refuse(where, "'prefixItems' is not supported here");
        const std::size_t least = limit(schema, "minItems", 0, where);
        const std::size_t most = limit(schema, "maxItems", Expression::unlimited, where);
        if (most < least) refuse(where, "'maxItems' is below 'minItems'");
        Expression item = rule("json-value");
        if (schema.contains("items")) {
            item = rule(named(where + "/items"));
        }
        Expression further =
            repeat(sequence({space(), bytes(","), space(), item}), least > 0 ? least - 1 : 0,
                   most == Expression::unlimited ? most : std::max<std::size_t>(most, 1) - 1);
        Expression items = sequence({item, std::move(further), space()});
        if (least == 0) items = repeat(std::move(items), 0, most > 0 ? 1 : 0);
        return sequence({bytes("["), space(), std::move(items), bytes("]")});
    }

    static std::set<std::string> required_of(const Json& schema, const std::string& where) {
        std::set<std::string> names;
        if (!schema.contains("required")) return names;
        const Json& list = schema.at("required");
        if (!list.is_array()) refuse(where, "'required': expected a list");
        for (const Json& name : list) {
            if (!name.is_string()) refuse(where, "'required': expected names");
            names.insert(name.get<std::string>());
        }
        return names;
    }

    Expression object(const Json& schema, const std::string& where) {
        auto required = required_of(schema, where);
        std::vector<Expression> members;
        std::vector<bool> optional;
        if (schema.contains("properties")) {
            const Json& properties = schema.at("properties");
            if (!properties.is_object()) refuse(where, "'properties': expected an object");
            for (const auto& [name, value] : properties.items()) {
                members.push_back(member(bytes(Json(name).dump()),
                                         named(where + "/properties/" + escaped(name))));
                optional.push_back(required.erase(name) == 0);
            }
        }
        if (!required.empty())
            refuse(where, "'required': there is no property " + *required.begin());
        if (members.empty()) return dictionary(schema, where);
        if (schema.contains("additionalProperties") &&
            schema.at("additionalProperties") != Json(false)) {
            refuse(where, "'additionalProperties' beside 'properties': expected false");
        }
        return sequence({bytes("{"), space(), members_from(members, optional), bytes("}")});
    }

    static Expression member(Expression name, const std::string& value) {
        return sequence({std::move(name), space(), bytes(":"), space(), rule(value)});
    }

    /// Of the members, those that are not optional, in order. A rule for what follows one that is
    /// there, and one for what follows none.
    Expression members_from(const std::vector<Expression>& members,
                            const std::vector<bool>& optional) {
        Expression behind = space();        // of a member that is there
        Expression without = sequence({});  // none was there
        for (std::size_t i = members.size(); i-- > 0;) {
            const std::string next = fresh_rule(std::move(behind));
            const Expression first = sequence({members[i], rule(next)});
            const Expression later =
                sequence({space(), bytes(","), space(), members[i], rule(next)});
            behind = optional[i] ? choice({later, rule(next)}) : later;
            without = optional[i] ? choice({first, rule(fresh_rule(std::move(without)))}) : first;
        }
        return without;
    }

    /// An object without stated properties.
    Expression dictionary(const Json& schema, const std::string& where) {
        const bool stated = schema.contains("additionalProperties");
        if (stated && schema.at("additionalProperties") == Json(false))
            return sequence({bytes("{"), space(), bytes("}")});
        if (!stated || schema.at("additionalProperties") == Json(true)) return rule("json-object");
        const Expression one = member(rule("json-string"), named(where + "/additionalProperties"));
        return sequence(
            {bytes("{"), space(),
             repeat(
                 sequence({one, repeat(sequence({space(), bytes(","), space(), one}), 0), space()}),
                 0, 1),
             bytes("}")});
    }

    std::string fresh_rule(Expression expression) {
        const std::string name = name_ + "-members-" + std::to_string(further_++);
        rules_[name] = std::move(expression);
        return name;
    }

    /// For a JSON pointer.
    static std::string escaped(const std::string& name) {
        std::string text;
        for (const char letter : name) {
            if (letter == '~') {
                text += "~0";
            } else if (letter == '/') {
                text += "~1";
            } else {
                text.push_back(letter);
            }
        }
        return text;
    }

    const Json& root_;
    const std::string name_;
    Rules rules_;
    std::map<std::string, std::string> names_;  // reference -> rule
    std::vector<std::string> open_;             // references without a rule yet
    std::size_t further_ = 0;
};

}  // namespace

Rules json_rules() {
    static const Rules rules = parse_gbnf(json_grammar);
    return rules;
}

Rules rules_of_schema(std::string_view schema, const std::string& name) {
    importing::parse_json(schema, "the schema");  // names that stand twice, depth
    return Schemas(Json::parse(schema), name).rules();
}

}  // namespace slip::grammar
