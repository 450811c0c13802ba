(* The errors of the ring products in numbers, for the parameter sets: README.md of optimized/masks,
   "Error". *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Lattice Floats FloatProducts FloatBounds.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Numbers.
Variable C : numClosedFieldType.
Local Notation num := (num C).
Implicit Types (u v w x y : C).

Let ge0n n : 0 <= n%:R :> C.
Proof. exact: ler0n. Qed.
#[local] Hint Resolve ge0n : core.

(* Powers of 2 in binary. *)
Definition power_of_two (n : nat) : positive := iter n xO xH.
Lemma num_power n : num (power_of_two n) = 2%:R ^+ n.
Proof.
elim: n => [|n IH]; first by [].
by rewrite exprS -IH -[2%:R]/(num 2) -numM.
Qed.

(* u = 100 v, kappa = 231 w, rho = 71 w. *)
Definition exponent_of (F : positive) : positive := ((231 + 71) * 12 + 100 * 21 + F)%positive.
Lemma exponent_num (a b c F : positive) :
  exponent (Pos.to_nat c) (Pos.to_nat F) (Pos.to_nat a) (Pos.to_nat b)
    = Pos.to_nat ((a + b) * 12 + c * 21 + F).
Proof. by rewrite /exponent !Pos2Nat.inj_add !Pos2Nat.inj_mul Pos2Nat.inj_add. Qed.
Lemma exponent_ok F :
  exponent (Pos.to_nat 100) (Pos.to_nat F) (Pos.to_nat 231) (Pos.to_nat 71)
    = Pos.to_nat (exponent_of F).
Proof. exact: exponent_num. Qed.

Lemma kappa_fits : 16%:R * ((Pos.to_nat 100)%:R : C) ^+ 2 <= 3%:R * (Pos.to_nat 231)%:R ^+ 2.
Proof.
have : num 16 * num 100 ^+ 2 <= num 3 * num 231 ^+ 2 by rewrite !expr2 -!numM; exact: num_le.
by [].
Qed.
Lemma rho_fits : ((Pos.to_nat 100)%:R : C) ^+ 2 <= 2%:R * (Pos.to_nat 71)%:R ^+ 2.
Proof.
have : num 100 ^+ 2 <= num 2 * num 71 ^+ 2 by rewrite !expr2 -!numM; exact: num_le.
by [].
Qed.

Section Kind.
(* V is 1 / v, E is 1 / e; K is more than the roundings of a sum at a point, F at least sqrt(2) times
   their growth. D, A_most and S_most bound the number of elements and their magnitudes, T is
   2 B + 1. *)
Variables (V E F K D A_most S_most T : positive) (B : nat).
Let P : positive := ((E + 1) * (E + 1))%positive.
Let Q : positive := (V * (E * E))%positive.
Hypothesis V_ok : num V = num 100 * 2%:R ^+ 53.
Hypothesis F_fits : Pos.leb (2 * ((100 * K) * (100 * K))) (F * F).
Hypothesis u_fits : Pos.leb (100 * P * E) Q.
Hypothesis K_fits : Pos.leb (100 * K * P * E) Q.
Hypothesis n_fits : Pos.leb (exponent_of F * P * E) Q.
Hypothesis T_ok : Pos.to_nat T = (2 * B + 1)%N.
Hypothesis total_fits :
  Pos.ltb (2 * (exponent_of F * (P * (D * ((16 * A_most) * (16 * S_most)))))) (T * Q).

Let num_ge0 p : 0 <= num p := ltW (num_gt0 C p).
Let num_neq0 p : num p != 0 := lt0r_neq0 (num_gt0 C p).
Let v : C := (num V)^-1.
Let e : C := (num E)^-1.
Let w : C := v * (1 + e).
Let x : C := w * (1 + e).
Let v_ge0 : 0 <= v.
Proof. by rewrite invr_ge0. Qed.
Let e_ge0 : 0 <= e.
Proof. by rewrite invr_ge0. Qed.
Let e1_ge1 : 1 <= 1 + e.
Proof. by rewrite ler_addl. Qed.
Let v_w : v <= w.
Proof. by rewrite /w ler_pemulr. Qed.
Let w_x : w <= x.
Proof. by rewrite /x ler_pemulr // (le_trans v_ge0). Qed.
Let x_ge0 : 0 <= x := le_trans (le_trans v_ge0 v_w) w_x.

Let x_eq : x = num P / num Q.
Proof.
have num1 : num 1 = 1 by [].
have e1 : 1 + e = num (E + 1) / num E by rewrite numD mulrDl divff // num1 mul1r.
have v1 : v = num 1 / num V by rewrite num1 mul1r.
rewrite /x /w e1 v1 !mulf_div -!numM; congr (num _ / num _); exact/esym/Pos.mul_assoc.
Qed.

Let u_v : roundoff C = (Pos.to_nat 100)%:R * v.
Proof. by rewrite /v V_ok invfM mulrA -[(Pos.to_nat 100)%:R]/(num 100) divff // mul1r. Qed.

Let u_small : roundoff C <= e.
Proof.
rewrite u_v; apply: le_trans (times_x_le x_eq u_fits).
by rewrite -[(Pos.to_nat 100)%:R]/(num 100) ler_wpmul2l // (le_trans v_w).
Qed.

Let K_small : (Pos.to_nat 100 * Pos.to_nat K)%:R * w <= e.
Proof.
apply: le_trans (times_x_le x_eq K_fits); rewrite /num Pos2Nat.inj_mul ler_wpmul2l //.
Qed.

Let n_small : (exponent (Pos.to_nat 100) (Pos.to_nat F) (Pos.to_nat 231) (Pos.to_nat 71))%:R * x
  <= e.
Proof. by rewrite exponent_ok -/(num (exponent_of F)) (times_x_le x_eq n_fits). Qed.

Let F_ok : 2%:R * ((Pos.to_nat 100 * Pos.to_nat K)%:R : C) ^+ 2 <= (Pos.to_nat F)%:R ^+ 2.
Proof.
have -> : (Pos.to_nat 100 * Pos.to_nat K)%:R = num (100 * K) by rewrite /num Pos2Nat.inj_mul.
rewrite -[2%:R]/(num 2) -[(Pos.to_nat F)%:R]/(num F) !expr2 -!numM; exact: num_le.
Qed.

Section Products.
Variables (g : C) (table : nat -> C) (d : nat) (A S : 'I_d -> 'rV[int]_256).
Hypothesis roots : roots_within (roundoff C) g table.
Hypothesis d_le : (d <= Pos.to_nat D)%N.
Hypotheses (A_ok : magnitudes_at_most (Zpos A_most) A) (S_ok : magnitudes_at_most (Zpos S_most) S).

Let norm_of p : C := 16%:R * num p.
Let norm_ge0 p : 0 <= norm_of p.
Proof. by rewrite mulr_ge0. Qed.
Let A_squares l : squares 128 (complex_form (in_field C A l)) <= norm_of A_most ^+ 2.
Proof. by apply: squares_of_integers => i; exact: A_ok. Qed.
Let S_squares l : squares 128 (complex_form (in_field C S l)) <= norm_of S_most ^+ 2.
Proof. by apply: squares_of_integers => i; exact: S_ok. Qed.

Let sum_eq : \sum_l negacyclic (in_field C A l) (in_field C S l)
  = map_mx intr (\sum_l negacyclic (A l) (S l)).
Proof. by rewrite [RHS]raddf_sum; apply: eq_bigr => l _; exact: negacyclic_in_field. Qed.

Lemma off_of_near (y : nat -> C) : (forall j, (j < 128)%N ->
    `|y j - complex_form (\sum_l negacyclic (in_field C A l) (in_field C S l)) j|
      <= (exponent (Pos.to_nat 100) (Pos.to_nat F) (Pos.to_nat 231) (Pos.to_nat 71))%:R * x
         * (d%:R * (norm_of A_most * norm_of S_most))) ->
  off_by_at_most B A S y.
Proof.
rewrite sum_eq exponent_ok -/(num (exponent_of F)) => near i n n_ok.
apply: (rounded_off n_ok (coefficient_near near i)).
have norms : num (D * ((16 * A_most) * (16 * S_most))) = num D * (norm_of A_most * norm_of S_most).
  by rewrite (numM C D) (numM C (16 * A_most)) (numM C 16 A_most) (numM C 16 S_most).
rewrite -T_ok; apply: le_lt_trans (total_lt x_eq total_fits).
rewrite norms; move: (exponent_of F) => n'; apply: ler_wpmul2l => //.
apply: ler_wpmul2l; first by rewrite mulr_ge0.
by apply: ler_wpmul2r; [rewrite mulr_ge0|rewrite ler_nat].
Qed.

Theorem four_sums_off (y : nat -> C) : (d < Pos.to_nat K)%N ->
  float_product (rounded (roundoff C)) table (point_by_four_sums (rounded (roundoff C)))
    (in_field C A) (in_field C S) y ->
  off_by_at_most B A S y.
Proof.
move=> d_lt y_ok; apply: off_of_near => j j_lt.
exact: (four_sums_within v_ge0 e_ge0 u_v erefl erefl kappa_fits rho_fits F_ok u_small K_small n_small
  roots d_lt (norm_ge0 _) (norm_ge0 _) A_squares S_squares y_ok j_lt).
Qed.

Theorem two_sums_off (y : nat -> C) : (2 * d <= Pos.to_nat K)%N ->
  float_product (rounded (roundoff C)) table (point_by_two_sums (rounded (roundoff C)))
    (in_field C A) (in_field C S) y ->
  off_by_at_most B A S y.
Proof.
move=> d_lt y_ok; apply: off_of_near => j j_lt.
exact: (two_sums_within v_ge0 e_ge0 u_v erefl erefl kappa_fits rho_fits F_ok u_small K_small n_small
  roots d_lt (norm_ge0 _) (norm_ge0 _) A_squares S_squares y_ok j_lt).
Qed.
End Products.
End Kind.

(* -------------------------------------------------------------------------------------- claims *)
Section Sets.
Variables (g : C) (table : nat -> C) (d : nat) (A S : 'I_d -> 'rV[int]_256) (y : nat -> C).
Hypothesis roots : roots_within (roundoff C) g table.

Let V : positive := (100 * power_of_two 53)%positive.
Let V_ok : num V = num 100 * 2%:R ^+ 53.
Proof. by rewrite numM num_power. Qed.

Theorem exact_products : (d <= 16)%N ->
  magnitudes_at_most (2 ^ 24) A -> magnitudes_at_most 2 S ->
  float_product (rounded (roundoff C)) table (point_by_four_sums (rounded (roundoff C)))
    (in_field C A) (in_field C S) y ->
  off_by_at_most 0 A S y.
Proof.
move=> d_le A_ok S_ok y_ok; exact: (@four_sums_off V (power_of_two 20) 2406 17 16 (power_of_two 24) 2 1 0 V_ok
  erefl erefl erefl erefl erefl erefl g table d A S roots d_le A_ok S_ok y d_le
  y_ok).
Qed.

Theorem approximate_products : (d <= 8)%N ->
  magnitudes_at_most 385700385296 A -> magnitudes_at_most 2 S ->
  float_product (rounded (roundoff C)) table (point_by_four_sums (rounded (roundoff C)))
    (in_field C A) (in_field C S) y ->
  off_by_at_most 12 A S y.
Proof.
move=> d_le A_ok S_ok y_ok; exact: (@four_sums_off V (power_of_two 20) 1275 9 8 385700385296 2 25 12 V_ok
  erefl erefl erefl erefl erefl erefl g table d A S roots d_le A_ok S_ok y d_le
  y_ok).
Qed.

Theorem rounded_products : (d <= 9)%N ->
  magnitudes_at_most 5472124216395 A -> magnitudes_at_most 1 S ->
  float_product (rounded (roundoff C)) table (point_by_four_sums (rounded (roundoff C)))
    (in_field C A) (in_field C S) y ->
  off_by_at_most 100 A S y.
Proof.
move=> d_le A_ok S_ok y_ok; exact: (@four_sums_off V (power_of_two 20) 1416 10 9 5472124216395 1 201 100 V_ok
  erefl erefl erefl erefl erefl erefl g table d A S roots d_le A_ok S_ok y d_le
  y_ok).
Qed.

Theorem small_products : (d <= 16)%N ->
  magnitudes_at_most (2 ^ 24) A -> magnitudes_at_most 1 S ->
  float_product (rounded (roundoff C)) table (point_by_two_sums (rounded (roundoff C)))
    (in_field C A) (in_field C S) y ->
  off_by_at_most 0 A S y.
Proof.
move=> d_le A_ok S_ok; have le : (2 * d <= 32)%N by rewrite (leq_mul2l 2 d 16).
exact: (@two_sums_off V (power_of_two 20) 4527 32 16 (power_of_two 24) 1 1 0 V_ok
  erefl erefl erefl erefl erefl erefl g table d A S roots d_le A_ok S_ok y le).
Qed.
End Sets.
End Numbers.
