(* The modulus is prime. Chapter: parameters.

   Lucas' test: if a^(n-1) = 1 mod n, and a^((n-1)/q) - 1 is invertible mod n for every prime factor
   q of n - 1, then n is prime. The powers are computed in binary integers, inside Coq. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Lemma lucas n a : 1 < n -> a ^ n.-1 = 1 %[mod n] ->
  (forall q, prime q -> q %| n.-1 ->
     exists u, u * (a ^ (n.-1 %/ q) + n.-1) = 1 %[mod n]) ->
  prime n.
Proof.
move=> n_gt1 a_n a_q; set p := pdiv n; have n_gt0 := ltnW n_gt1.
have p_pr : prime p by apply: pdiv_prime.
have p_n : p %| n by apply: pdiv_dvd.
have n1_gt0 : 0 < n.-1 by rewrite -ltnS prednK.
have to_p x y : x = y %[mod n] -> x = y %[mod p].
  by move=> e; rewrite -(modn_dvdm x p_n) e modn_dvdm.
have ap : a ^ n.-1 = 1 %[mod p] by apply: to_p.
have ex_order : exists d, (0 < d) && (a ^ d == 1 %[mod p]).
  by exists n.-1; rewrite n1_gt0 ap eqxx.
case: (ex_minnP ex_order) => d /andP[d_gt0 /eqP a_d] d_min.
have a_dk k : a ^ (d * k) = 1 %[mod p] by rewrite expnM -modnXm a_d modnXm exp1n.
have d_n1 : d %| n.-1.
  rewrite /dvdn -leqn0 leqNgt; apply/negP => r_gt0.
  have : d <= n.-1 %% d.
    apply: d_min; rewrite r_gt0 /=; apply/eqP; rewrite -ap [in RHS](divn_eq n.-1 d) expnD.
    by rewrite -modnMml (mulnC _ d) a_dk modnMml mul1n.
  by rewrite leqNgt ltn_mod d_gt0.
have d_max : d = n.-1.
  apply/eqP; rewrite eqn_leq dvdn_leq //= leqNgt; apply/negP => lt_d.
  have k_gt1 : 1 < n.-1 %/ d by rewrite ltn_divRL // mul1n.
  have q_pr := pdiv_prime k_gt1; have q_k := pdiv_dvd (n.-1 %/ d); move: (pdiv _) q_pr q_k => q q_pr q_k.
  have def_n1 : n.-1 = d * ((n.-1 %/ d) %/ q) * q by rewrite -mulnA divnK // mulnC divnK.
  have q_n1 : q %| n.-1 by rewrite def_n1 dvdn_mull.
  have [u] := a_q q q_pr q_n1; have -> : n.-1 %/ q = d * ((n.-1 %/ d) %/ q).
    by rewrite [in LHS]def_n1 mulnK // prime_gt0.
  move/to_p; rewrite -modnMmr -modnDml a_dk modnDml add1n prednK //.
  rewrite (eqP p_n) muln0 mod0n modn_small ?prime_gt1 //.
have p1_gt0 : 0 < p.-1 by rewrite -ltnS prednK ?prime_gt0 // prime_gt1.
have a_p1 : a ^ p.-1 = 1 %[mod p].
  rewrite -[a ^ p.-1]muln1 -modnMmr -ap modnMmr -(prednK n1_gt0) expnS mulnA.
  rewrite -expnSr prednK ?prime_gt0 // -modnMml fermat_little // modnMml -expnS prednK //.
have : d <= p.-1 by apply: d_min; rewrite p1_gt0 a_p1 eqxx.
rewrite d_max => n_le; have p_le : p <= n by apply: dvdn_leq.
suff -> : n = p by [].
apply/eqP; rewrite eqn_leq p_le andbT.
by have := prime_gt0 p_pr; lia.
Qed.

(* ------------------------------------------------------------- powers in binary integers *)
Lemma expn_Z m n : Z.of_nat (m ^ n) = Z.pow (Z.of_nat m) (Z.of_nat n).
Proof.
elim: n => [//|n IH]; rewrite expnS Nat2Z.inj_succ Z.pow_succ_r ?muln_Z ?IH //.
exact: Zle_0_nat.
Qed.

Lemma modn_Z m d : 0 < d -> Z.of_nat (m %% d) = Z.modulo (Z.of_nat m) (Z.of_nat d).
Proof.
move=> d_gt0; apply: (Z.mod_unique _ _ (Z.of_nat (m %/ d))).
  by left; have := ltn_pmod m d_gt0; lia.
by rewrite {1}(divn_eq m d); lia.
Qed.

Fixpoint power_mod (a : Z) (e : positive) (n : Z) : Z :=
  match e with
  | xH => Z.modulo a n
  | xO e' => let r := power_mod a e' n in Z.modulo (Z.mul r r) n
  | xI e' => let r := power_mod a e' n in Z.modulo (Z.mul (Z.mul r r) a) n
  end.

Lemma power_mod_spec a e n : n <> Z0 -> power_mod a e n = Z.modulo (Z.pow a (Zpos e)) n.
Proof.
move=> n_neq0; elim: e => [e IH|e IH|]; rewrite [LHS]/=; last by rewrite Z.pow_1_r.
  rewrite IH Pos2Z.inj_xI Z.pow_add_r // Z.pow_1_r Z.pow_twice_r.
  by rewrite -(Z.mul_mod_idemp_l _ a) // -Z.mul_mod // Z.mul_mod_idemp_l.
by rewrite IH Pos2Z.inj_xO Z.pow_twice_r -Z.mul_mod.
Qed.

(* u (a^e + n - 1) = 1 mod n, decided in binary integers. *)
Definition inverse_test (a : Z) (e : positive) (u n : Z) : bool :=
  Z.eqb (Z.modulo (Z.mul u (Z.add (power_mod a e n) (Z.sub n (Zpos xH)))) n) (Zpos xH).

Lemma power_mod_nat (a e n : nat) (N : Z) (P : positive) :
  0 < n -> Z.of_nat n = N -> Z.of_nat e = Zpos P ->
  Z.of_nat (a ^ e %% n) = power_mod (Z.of_nat a) P N.
Proof.
move=> n_gt0 def_n def_e; rewrite modn_Z // expn_Z def_e def_n power_mod_spec //.
by rewrite -def_n; lia.
Qed.

Lemma inverse_test_sound (a e u n : nat) (N : Z) (P : positive) : 1 < n ->
  Z.of_nat n = N -> Z.of_nat e = Zpos P ->
  inverse_test (Z.of_nat a) P (Z.of_nat u) N -> u * (a ^ e + n.-1) = 1 %[mod n].
Proof.
move=> n_gt1 def_n def_e /Z.eqb_eq; rewrite -(power_mod_nat a (ltnW n_gt1) def_n def_e) => test.
have n_gt0 := ltnW n_gt1.
rewrite -modnMmr -modnDml modnMmr; apply: Nat2Z.inj; rewrite [in RHS]modn_small //.
rewrite modn_Z // muln_Z addn_Z def_n -[RHS]test; congr Z.modulo.
by congr Z.mul; congr Z.add; rewrite -def_n; lia.
Qed.

Lemma divn_Z m d : 0 < d -> Z.of_nat (m %/ d) = Z.div (Z.of_nat m) (Z.of_nat d).
Proof.
move=> d_gt0; apply: (Z.div_unique _ _ _ (Z.of_nat (m %% d))).
  by left; have := ltn_pmod m d_gt0; lia.
by rewrite {1}(divn_eq m d); lia.
Qed.

(* A prime factor q of n - 1, the cofactor (n - 1) / q, and the inverse of a^((n-1)/q) - 1. *)
Record factor := Factor { small : nat; cofactor : positive; inverse : Z }.

Arguments Factor _%nat_scope _%positive_scope _%Z_scope.

Definition factor_test (a N : Z) (f : factor) : bool :=
  [&& prime (small f), Z.eqb (Z.mul (Zpos (cofactor f)) (Z.of_nat (small f))) (Z.sub N (Zpos xH)),
      Z.leb Z0 (inverse f) & inverse_test a (cofactor f) (inverse f) N].

Definition product_of (factors : seq factor) : Z :=
  foldr (fun f acc => Z.mul (Z.of_nat (small f)) acc) (Zpos xH) factors.

Lemma prime_factor_in (factors : seq factor) q : prime q -> all (fun f => prime (small f)) factors ->
  q %| foldr (fun f acc => small f * acc) 1 factors -> q \in [seq small f | f <- factors].
Proof.
move=> q_pr; elim: factors => [|f factors IH] /=.
  by move=> _; rewrite dvdn1 => /eqP q1; rewrite q1 in q_pr.
case/andP=> f_pr factors_pr; rewrite Euclid_dvdM // dvdn_prime2 // inE => /orP[->//|q_in].
by rewrite IH // orbT.
Qed.

Lemma lucas_binary (n a : nat) (N : Z) (P : positive) (factors : seq factor) :
  1 < n -> Z.of_nat n = N -> Z.sub N (Zpos xH) = Zpos P ->
  power_mod (Z.of_nat a) P N = Zpos xH ->
  product_of factors = Z.sub N (Zpos xH) -> all (factor_test (Z.of_nat a) N) factors ->
  prime n.
Proof.
move=> n_gt1 def_n def_P power product tests; have n_gt0 := ltnW n_gt1.
have def_n1 : Z.of_nat n.-1 = Zpos P by rewrite -def_P -def_n; lia.
apply: (@lucas n a) => // [|q q_pr q_n1].
  apply: Nat2Z.inj; rewrite (power_mod_nat a n_gt0 def_n def_n1) power.
  by rewrite modn_small.
have factored : n.-1 = foldr (fun f acc => small f * acc) 1 factors.
  apply: Nat2Z.inj; rewrite def_n1 -def_P -product /product_of.
  by elim: (factors) => [//|f fs IH] /=; rewrite muln_Z IH.
have primes : all (fun f => prime (small f)) factors.
  by apply: sub_all tests => f /and4P[].
rewrite factored in q_n1; have /(nthP 0)[i] := prime_factor_in q_pr primes q_n1.
rewrite size_map => i_lt; rewrite (nth_map (Factor 0 xH Z0)) //; set f := nth _ _ _ => def_q.
have /and4P[_ /Z.eqb_eq cof /Z.leb_le inv_ge0 inv] : factor_test (Z.of_nat a) N f.
  by move/all_nthP: tests; apply.
exists (Z.to_nat (inverse f)).
apply: (@inverse_test_sound _ _ _ _ N (cofactor f)) => //; last by rewrite Z2Nat.id.
rewrite divn_Z ?prime_gt0 // def_n1 -def_P -cof def_q Z.div_mul //.
by have := prime_gt0 q_pr; lia.
Qed.

Lemma mersenne_gt1 e : 1 < e -> 1 < (2 ^ e).-1.
Proof. by rewrite -(@ltn_exp2l 2) // expn1; lia. Qed.

Lemma mersenne_Z e : Z.of_nat (2 ^ e).-1 = Z.sub (Z.pow (Zpos (xO xH)) (Z.of_nat e)) (Zpos xH).
Proof. by have := expn_gt0 2 e; have := expn_Z 2 e; rewrite [Z.of_nat 2]/=; lia. Qed.

Definition factors31 : seq factor :=
  ([:: Factor 2 1073741823 1073741823;
      Factor 3 715827882 1642991068;
      Factor 3 715827882 1642991068;
      Factor 7 306783378 1468790198;
      Factor 11 195225786 1978945544;
      Factor 31 69273666 142885409;
      Factor 151 14221746 1648395377;
      Factor 331 6487866 1924809196]).

Lemma prime31_prime : prime (2 ^ 31).-1.
Proof.
apply: (@lucas_binary _ 7 _ _ factors31 _ (mersenne_Z 31) erefl); [exact: mersenne_gt1|..].
all: by vm_compute.
Qed.
