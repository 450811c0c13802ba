(* Products of integers that are rounded to the nearest integer, and their error in terms of the number
   of elements and of their magnitudes. FloatSets.v has the parameter sets. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Lattice Floats FloatProducts.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* Coefficient i of the real polynomial whose complex form is y. *)
Definition coefficient_of (C : numClosedFieldType) (y : nat -> C) (i : nat) : C :=
  if (i < 128)%N then 'Re (y i) else 'Im (y (i - 128)%N).

(* Integers as numbers of C. *)
Definition in_field (C : numClosedFieldType) (d : nat) (A : 'I_d -> 'rV[int]_256) (l : 'I_d) :
    'rV[C]_256 := map_mx intr (A l).

(* No coefficient has a magnitude above B. *)
Definition magnitudes_at_most (B : Z) (d : nat) (A : 'I_d -> 'rV[int]_256) : Prop :=
  forall l i, Z.le (Z.abs (Z_of_int (A l 0 i))) B.

(* Of binary64, rounding to nearest. *)
Definition roundoff (C : numClosedFieldType) : C := 2%:R ^- 53.

(* Each root of the table is off by at most u / sqrt(2). *)
Definition roots_within (C : numClosedFieldType) (u g : C) (table : nat -> C) : Prop :=
  g ^+ 128 = 'i /\ forall e, 2%:R * `|table e - g ^+ e| ^+ 2 <= u ^+ 2.

(* n is an integer nearest to x. *)
Definition nearest (C : numClosedFieldType) (x : C) (n : int) : Prop := `|n%:~R - x| <= 2%:R^-1.

(* The integers nearest to the coefficients of a product are off by at most B. *)
Definition off_by_at_most (C : numClosedFieldType) (B : nat) (d : nat) (A S : 'I_d -> 'rV[int]_256)
    (y : nat -> C) : Prop :=
  forall (i : 'I_256) (n : int), nearest (coefficient_of y i) n ->
  (absz (n - (\sum_l negacyclic (A l) (S l)) 0 i)%R <= B)%N.

Section Numbers.
Variable C : numClosedFieldType.
Implicit Types (u v w x y : C).

Let ge01 : 0 <= 1 :> C.
Proof. exact: ler01. Qed.
Let ge0n n : 0 <= n%:R :> C.
Proof. exact: ler0n. Qed.
#[local] Hint Resolve ge01 ge0n : core.

(* Positive integers of any size, never in unary. *)
Definition num (p : positive) : C := (Pos.to_nat p)%:R.
Lemma numD p q : num (p + q) = num p + num q.
Proof. by rewrite /num Pos2Nat.inj_add natrD. Qed.
Lemma numM p q : num (p * q) = num p * num q.
Proof. by rewrite /num Pos2Nat.inj_mul natrM. Qed.
Lemma num_le p q : Pos.leb p q -> num p <= num q.
Proof. by move/Pos.leb_le/Pos2Nat.inj_le/ssrnat.leP => le; rewrite /num ler_nat. Qed.
Lemma num_lt p q : Pos.ltb p q -> num p < num q.
Proof. by move/Pos.ltb_lt/Pos2Nat.inj_lt/ssrnat.ltP => lt; rewrite /num ltr_nat. Qed.
Lemma num_gt0 p : 0 < num p.
Proof. by rewrite ltr0n; apply/ssrnat.ltP; exact: Pos2Nat.is_pos. Qed.

(* ----------------------------------------------------------------- powers of 1 + v, v small *)
Lemma power_ge v n : 0 <= v -> 1 + n%:R * v <= (1 + v) ^+ n.
Proof.
move=> v_ge0; elim: n => [|n IH]; first by rewrite mul0r addr0 expr0.
rewrite exprS mulrDl mul1r mulrSr mulrDl mul1r addrA; apply: ler_add => //.
by rewrite ler_pemulr // exprn_ege1 // ler_addl.
Qed.

Lemma power_le v e w n : 0 <= v -> v * (1 + e) <= w -> n%:R * w <= e -> 0 <= w ->
  (1 + v) ^+ n <= 1 + n%:R * w.
Proof.
move=> v_ge0 w_ok n_ok w_ge0.
have each k : (k <= n)%N -> (1 + v) ^+ k <= 1 + k%:R * w.
  elim: k => [|k IH] k_le; first by rewrite mul0r addr0 expr0.
  have {IH} IH := IH (ltnW k_le).
  rewrite exprS mulrDl mul1r mulrSr mulrDl mul1r addrA; apply: ler_add => //.
  apply: le_trans w_ok; rewrite ler_wpmul2l //; apply: le_trans IH _; rewrite ler_add2l.
  by apply: le_trans n_ok; rewrite ler_wpmul2r // ler_nat ltnW.
exact: each.
Qed.

(* x is at least 0 and at most (1 + w)^n. *)
Definition below w x n : Prop := 0 <= x /\ x <= (1 + w) ^+ n.
Lemma below_mul w x y m n : below w x m -> below w y n -> below w (x * y) (m + n).
Proof.
by case=> x_ge0 x_le [y_ge0 y_le]; split; [exact: mulr_ge0|rewrite exprD; exact: ler_pmul].
Qed.
Lemma below_exp w x n k : below w x n -> below w (x ^+ k) (n * k).
Proof.
case=> x_ge0 x_le; split; first exact: exprn_ge0.
by rewrite exprM; apply: ler_expn2r; rewrite ?qualifE // (le_trans x_ge0).
Qed.
Lemma below_one w x n : 0 <= w -> 0 <= x -> x <= n%:R * w -> below w (1 + x) n.
Proof.
move=> w_ge0 x_ge0 x_le; split; first exact: addr_ge0.
by apply: le_trans (power_ge n w_ge0); rewrite ler_add2l.
Qed.

Lemma squares_le (m n x y w : C) : 0 <= w -> m * x ^+ 2 <= n * y ^+ 2 ->
  m * (x * w) ^+ 2 <= n * (y * w) ^+ 2.
Proof.
move=> w_ge0; have := exprn_ge0 2 w_ge0; rewrite !exprMn.
by move: (x ^+ 2) (y ^+ 2) (w ^+ 2) => x' y' w' w'_ge0 le; rewrite !mulrA ler_wpmul2r.
Qed.

(* ------------------------------------------------------------------------------- the factor *)
Section Factor.
(* u = c v, where w and x are v, times (rounded 1) + e once and twice. *)
Variables (c k F : nat) (u v e w x : C).
Hypotheses (v_ge0 : 0 <= v) (e_ge0 : 0 <= e) (u_v : u = c%:R * v).
Hypotheses (w_v : w = v * (1 + e)) (x_w : x = w * (1 + e)).
(* kappa = a w, rho = b w, f = F w. *)
Variables a b : nat.
Hypothesis a_ok : 16%:R * (c%:R : C) ^+ 2 <= 3%:R * a%:R ^+ 2.
Hypothesis b_ok : (c%:R : C) ^+ 2 <= 2%:R * b%:R ^+ 2.
Hypothesis F_ok : 2%:R * ((c * k)%:R : C) ^+ 2 <= F%:R ^+ 2.
Definition exponent : nat := (a + b) * 12 + c * 21 + F.
Hypothesis u_small : u <= e.
Hypothesis k_small : (c * k)%:R * w <= e.
Hypothesis n_small : exponent%:R * x <= e.

Let e1_ge1 : 1 <= 1 + e.
Proof. by rewrite ler_addl. Qed.
Let v_w : v <= w.
Proof. by rewrite w_v ler_pemulr. Qed.
Let w_ge0 : 0 <= w := le_trans v_ge0 v_w.
Let x_ge0 : 0 <= x.
Proof. by rewrite x_w mulr_ge0 // addr_ge0. Qed.
Let u_ge0 : 0 <= u.
Proof. by rewrite u_v mulr_ge0. Qed.
Let u_w : u <= c%:R * w.
Proof. by rewrite u_v ler_wpmul2l. Qed.

Let n_ge0 n : 0 <= n%:R * w.
Proof. by rewrite mulr_ge0. Qed.

Lemma kappa_ok : 16%:R * (u * (1 + u)) ^+ 2 <= 3%:R * (a%:R * w) ^+ 2.
Proof.
apply: (@le_trans _ _ (16%:R * (c%:R * w) ^+ 2)).
  rewrite ler_wpmul2l //; apply: ler_expn2r; rewrite ?qualifE ?mulr_ge0 ?addr_ge0 //.
  by rewrite u_v -mulrA ler_wpmul2l // w_v ler_wpmul2l // ler_add2l -u_v.
exact: squares_le.
Qed.

Lemma rho_ok (z : C) : 2%:R * `|z| ^+ 2 <= u ^+ 2 -> `|z| <= b%:R * w.
Proof.
move=> z_ok; rewrite -ler_sqr ?qualifE ?mulr_ge0 //.
have two_gt0 : 0 < 2%:R :> C by rewrite ltr0n.
rewrite -(ler_pmul2l two_gt0); apply: le_trans z_ok _.
apply: (@le_trans _ _ ((c%:R * w) ^+ 2)).
  by apply: ler_expn2r; rewrite ?qualifE ?mulr_ge0.
by rewrite !exprMn [X in _ <= X]mulrA ler_wpmul2r ?exprn_ge0.
Qed.

Lemma f_ok d : (d <= k)%N -> 2%:R * ((1 + u) ^+ d - 1) ^+ 2 <= (F%:R * w) ^+ 2.
Proof.
move=> d_le; have u1_ge1 : 1 <= 1 + u by rewrite ler_addl.
have grown : (1 + u) ^+ k <= 1 + (c * k)%:R * w.
  apply: (@le_trans _ _ ((1 + v) ^+ (c * k))).
    rewrite exprM; apply: ler_expn2r; rewrite ?qualifE ?exprn_ge0 ?addr_ge0 //.
    by rewrite u_v power_ge.
  by apply: (@power_le _ e) => //; rewrite -w_v.
apply: (@le_trans _ _ (2%:R * ((c * k)%:R * w) ^+ 2)).
  rewrite ler_wpmul2l //; apply: ler_expn2r; rewrite ?qualifE ?mulr_ge0 ?subr_ge0 ?exprn_ege1 //.
  by rewrite ler_subl_addl; apply: le_trans grown; rewrite ler_weexpn2l.
by rewrite -[X in _ <= X]mul1r squares_le // mul1r.
Qed.

Lemma factor_le : ((1 + a%:R * w) * (1 + b%:R * w)) ^+ 12 * (1 + u) ^+ 21 * (1 + F%:R * w) - 1
  <= exponent%:R * x.
Proof.
have one n : below w (1 + n%:R * w) n by apply: below_one.
have [_ le] := below_mul (below_mul (below_exp 12 (below_mul (one a) (one b)))
  (below_exp 21 (below_one w_ge0 u_ge0 u_w))) (one F).
rewrite ler_subl_addl; apply: le_trans le _.
by apply: (@power_le _ e) => //; rewrite -x_w.
Qed.

Section Roots.
Variables (g : C) (table : nat -> C).
Hypothesis roots : roots_within u g table.

Theorem four_sums_within (d : nat) (A S : 'I_d -> 'rV[C]_256) (A_norm S_norm : C) (y : nat -> C) :
  (d < k)%N -> 0 <= A_norm -> 0 <= S_norm ->
  (forall l, squares 128 (complex_form (A l)) <= A_norm ^+ 2) ->
  (forall l, squares 128 (complex_form (S l)) <= S_norm ^+ 2) ->
  float_product (rounded u) table (point_by_four_sums (rounded u)) A S y -> forall j, (j < 128)%N ->
  `|y j - complex_form (\sum_l negacyclic (A l) (S l)) j|
    <= exponent%:R * x * (d%:R * (A_norm * S_norm)).
Proof.
move=> d_lt A_ge0 S_ge0 A_ok S_ok y_ok j j_lt; have [g_ok t_ok] := roots.
have := float_product_error g_ok u_ge0 (n_ge0 a) (n_ge0 b) (n_ge0 F) kappa_ok
  (fun i => rho_ok (t_ok i)) (f_ok d_lt) (fun _ => A_ge0) (fun _ => S_ge0) A_ok S_ok y_ok j_lt.
rewrite sumr_const card_ord -[_ *+ d]mulr_natl => le; apply: le_trans le _.
by rewrite ler_wpmul2r ?factor_le // !mulr_ge0.
Qed.

Theorem two_sums_within (d : nat) (A S : 'I_d -> 'rV[C]_256) (A_norm S_norm : C) (y : nat -> C) :
  (2 * d <= k)%N -> 0 <= A_norm -> 0 <= S_norm ->
  (forall l, squares 128 (complex_form (A l)) <= A_norm ^+ 2) ->
  (forall l, squares 128 (complex_form (S l)) <= S_norm ^+ 2) ->
  float_product (rounded u) table (point_by_two_sums (rounded u)) A S y -> forall j, (j < 128)%N ->
  `|y j - complex_form (\sum_l negacyclic (A l) (S l)) j|
    <= exponent%:R * x * (d%:R * (A_norm * S_norm)).
Proof.
move=> d_le A_ge0 S_ge0 A_ok S_ok y_ok j j_lt; have [g_ok t_ok] := roots.
have := float_small_product_error g_ok u_ge0 (n_ge0 a) (n_ge0 b) (n_ge0 F) kappa_ok
  (fun i => rho_ok (t_ok i)) (f_ok d_le) (fun _ => A_ge0) (fun _ => S_ge0) A_ok S_ok y_ok j_lt.
rewrite sumr_const card_ord -[_ *+ d]mulr_natl => le; apply: le_trans le _.
by rewrite ler_wpmul2r ?factor_le // !mulr_ge0.
Qed.
End Roots.
End Factor.

(* ------------------------------------------------------------------------ integers and rounding *)
Lemma re_le x : `|'Re x| <= `|x|.
Proof.
rewrite -ler_sqr ?qualifE // [X in _ <= X]normC2_Re_Im real_normK ?Creal_Re // ler_addl.
by rewrite real_exprn_even_ge0 ?Creal_Im.
Qed.
Lemma im_le x : `|'Im x| <= `|x|.
Proof.
rewrite -ler_sqr ?qualifE // normC2_Re_Im -[`|'Im x| ^+ 2]real_normK ?normr_real // normr_id.
by rewrite real_normK ?Creal_Im // ler_addr real_exprn_even_ge0 // Creal_Re.
Qed.

Lemma squares_of_integers (B : positive) (a : 'rV[int]_256) :
  (forall i, Z.le (Z.abs (Z_of_int (a 0 i))) (Zpos B)) ->
  squares 128 (complex_form (map_mx intr a : 'rV[C]_256)) <= (16%:R * num B) ^+ 2.
Proof.
move=> a_le; have entry i : (i < 256)%N -> exists z : int,
    (rVpoly (map_mx intr a : 'rV[C]_256))`_i = z%:~R /\ (z%:~R : C) ^+ 2 <= num B ^+ 2.
  move=> lt; exists (a 0 (Ordinal lt)); split; first by rewrite (coef_rVpoly_ord _ (Ordinal lt)) mxE.
  rewrite -real_normK ?realz //; apply: ler_expn2r; rewrite ?qualifE ?normr_ge0 ?(ltW (num_gt0 _)) //.
  rewrite -intr_norm -natr_absz /num ler_nat; have := a_le (Ordinal lt).
  by move: (a _ _) => z; lia.
apply: (@le_trans _ _ (\sum_(j < 128) 2%:R * num B ^+ 2)).
  apply: ler_sum => j _; have j_lt := ltn_ord j.
  have [|p [p_eq p_le]] := entry j; first exact: leq_trans j_lt _.
  have [|q [q_eq q_le]] := entry (j + 128)%N; first by rewrite (ltn_add2r 128 j 128).
  rewrite /complex_form p_eq q_eq normC2_rect ?realz // mulr_natl mulr2n.
  exact: ler_add.
rewrite sumr_const card_ord -mulr_natl mulrA exprMn ler_wpmul2r ?exprn_ge0 ?(ltW (num_gt0 _)) //.
by rewrite -natrX -natrM ler_nat.
Qed.

Lemma negacyclic_in_field (a s : 'rV[int]_256) :
  negacyclic (map_mx intr a) (map_mx intr s) = map_mx intr (negacyclic a s) :> 'rV[C]_256.
Proof.
apply/rowP => i; rewrite !mxE rmorphB !rmorph_sum /=; congr (_ - _); apply: eq_bigr => j _;
  by rewrite rmorph_sum; apply: eq_bigr => k _; rewrite !mxE rmorphM.
Qed.

Lemma coefficient_near (y : nat -> C) (a : 'rV[int]_256) e :
  (forall j, (j < 128)%N -> `|y j - complex_form (map_mx intr a : 'rV[C]_256) j| <= e) ->
  forall i : 'I_256, `|coefficient_of y i - (a 0 i)%:~R| <= e.
Proof.
move=> y_ok i; have entry k (lt : (k < 256)%N) :
    (rVpoly (map_mx intr a : 'rV[C]_256))`_k = (a 0 (Ordinal lt))%:~R.
  by rewrite (coef_rVpoly_ord _ (Ordinal lt)) mxE.
have form j (lt : (j < 128)%N) (lt1 : (j < 256)%N) (lt2 : (j + 128 < 256)%N) :
    complex_form (map_mx intr a : 'rV[C]_256) j
      = (a 0 (Ordinal lt1))%:~R + 'i * (a 0 (Ordinal lt2))%:~R.
  by rewrite /complex_form !entry.
rewrite /coefficient_of; case: ifP => i_lt.
  have lt2 : (i + 128 < 256)%N by rewrite (ltn_add2r 128 i 128).
  have := le_trans (re_le _) (y_ok i i_lt); rewrite (form _ i_lt (ltn_ord i) lt2) ReB.
  by rewrite Re_rect ?realz // (_ : Ordinal _ = i); last exact: val_inj.
have i_ge : (128 <= i)%N by rewrite leqNgt i_lt.
have j_lt : (i - 128 < 128)%N by rewrite ltn_subLR // (leq_trans (ltn_ord i)).
have lt1 : (i - 128 < 256)%N by exact: leq_ltn_trans (leq_subr _ _) (ltn_ord i).
have lt2 : (i - 128 + 128 < 256)%N by rewrite subnK.
have := le_trans (im_le _) (y_ok _ j_lt); rewrite (form _ j_lt lt1 lt2) ImB.
rewrite Im_rect ?realz // (_ : Ordinal lt2 = i) //.
by apply: val_inj; rewrite /= subnK.
Qed.

(* What is off by less than B + 1/2 is, rounded, off by at most B. *)
Lemma rounded_off (n k : int) x e B : nearest x n -> `|x - k%:~R| <= e ->
  2%:R * e < (2 * B + 1)%:R -> (absz (n - k)%R <= B)%N.
Proof.
rewrite /nearest => n_ok x_ok e_lt; rewrite -ltnS -(ltr_nat C).
have two_gt0 : 0 < 2%:R :> C by rewrite ltr0n.
have -> : (absz (n - k)%R)%:R = `|n%:~R - k%:~R| :> C by rewrite natr_absz intr_norm rmorphB.
rewrite -(ltr_pmul2l two_gt0); apply: (@le_lt_trans _ _ (2%:R * (2%:R^-1 + e))).
  by rewrite ler_pmul2l //; exact: le_trans (ler_dist_add x _ _) (ler_add n_ok x_ok).
rewrite mulrDr divff ?lt0r_neq0 // -natrM (_ : (2 * B.+1)%N = 1 + (2 * B + 1))%N; last by lia.
by rewrite natrD ltr_add2l.
Qed.

(* -------------------------------------------------------------------------------- parameters *)
Section Fraction.
(* x is P / Q. *)
Variables (P Q : positive) (x : C).
Hypothesis x_eq : x = num P / num Q.

Lemma times_x_le m E : Pos.leb (m * P * E) Q -> num m * x <= (num E)^-1.
Proof.
move=> ok; rewrite x_eq mulrA ler_pdivr_mulr ?num_gt0 // [_^-1 * _]mulrC ler_pdivl_mulr ?num_gt0 // -!numM.
exact: num_le.
Qed.

Lemma total_lt n z T : Pos.ltb (2 * (n * (P * z))) (T * Q) ->
  2%:R * (num n * x * num z) < num T.
Proof.
move=> ok; have -> : 2%:R * (num n * x * num z) = num (2 * (n * (P * z))) / num Q.
  rewrite x_eq !numM -!mulrA; do 3 congr (_ * _); exact: mulrC.
by rewrite ltr_pdivr_mulr ?num_gt0 // -numM; exact: num_lt.
Qed.
End Fraction.
End Numbers.
