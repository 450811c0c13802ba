(* Reads vectors (see vectors.cpp), computes each with what Coq extracts, prints those that differ.
   Exit status: 0 all agree and there are some, 1 otherwise. *)
open Oracle

let digit c = int_of_string ("0x" ^ String.make 1 c)

(* Hexadecimal digits to Coq's binary numbers, bit by bit. *)
let number text =
  let negative = text.[0] = '-' in
  let value = ref None in
  String.iteri (fun i c -> if i > 0 || not negative then
    for bit = 3 downto 0 do
      let one = digit c lsr bit land 1 = 1 in
      value := match !value with
        | None -> if one then Some XH else None
        | Some p -> Some (if one then XI p else XO p)
    done) text;
  match !value with
  | None -> Z0
  | Some p -> if negative then Zneg p else Zpos p

let list text = if text = "" then [] else List.map number (String.split_on_char ',' text)

let vector line =
  match String.split_on_char ' ' line with
  | [name; arguments; "="; result] ->
      ((number name, List.map list (String.split_on_char ';' arguments)), list result)
  | _ -> failwith ("not a vector: " ^ line)

let () =
  let count = ref 0 and wrong = ref 0 in
  (try while true do
    let line = input_line stdin in
    incr count;
    if not (agrees (vector line)) then begin
      incr wrong;
      if !wrong <= 3 then print_endline ("differs: " ^ line)
    end
  done with End_of_file -> ());
  Printf.printf "%d vectors, %d differ\n" !count !wrong;
  exit (if !wrong = 0 && !count > 0 then 0 else 1)
