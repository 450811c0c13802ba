(* Every product of ring elements has a floating-point evaluation in the sense of Floats.v: exact
   arithmetic is one. So the claims on errors are about something. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Lattice Floats FloatProducts.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* ------------------------------------------------------------------------------- transform *)
Section Transform.
Variables (C : numClosedFieldType) (sum : C -> C -> Prop) (by_root : nat -> C -> C -> Prop).
Variables (over_root i_over_root : nat -> C -> C -> Prop) (root over i_over : nat -> C).
Hypothesis sum_exact : forall x, sum x x.
Hypothesis root_exact : forall e x, by_root e x (x * root e).
Hypothesis over_exact : forall e x, over_root e x (x * over e).
Hypothesis i_over_exact : forall e x, i_over_root e x (x * i_over e).
Implicit Types x y z : nat -> C.

(* Only the first values matter. *)
Lemma in_block m q j : (q < 4)%N -> (j < m)%N -> (q * m + j < 4 * m)%N.
Proof.
move=> q_lt j_lt; apply: leq_trans (_ : q * m + m <= _)%N; first by rewrite ltn_add2l.
by rewrite -mulSnr leq_mul2r q_lt orbT.
Qed.

Lemma forward_same l : forall s turned x y y', (forall k, (k < size_of l)%N -> y k = y' k) ->
  forward sum by_root l s turned x y -> forward sum by_root l s turned x y'.
Proof.
elim: l => [|l IH] s turned x y y' same.
  by rewrite /= /split_by_two (same 0%N) // (same 1%N).
case=> z [z_ok y_ok]; exists z; split=> // q q_lt; apply: IH (y_ok q q_lt) => k lt.
by rewrite /quarter same // sizeS in_block.
Qed.

Lemma inverse_same l s turned x y y' : (forall k, (k < size_of l)%N -> y k = y' k) ->
  inverse sum over_root i_over_root l s turned x y ->
  inverse sum over_root i_over_root l s turned x y'.
Proof.
case: l => [|l] same.
  by rewrite /= /join_by_two (same 0%N) // (same 1%N).
case=> z [z_ok y_ok]; exists z; split=> // j lt; move: (y_ok j lt).
by rewrite /join_by_four /entry !same // sizeS in_block.
Qed.

(* Four vectors, one after the other. *)
Definition blocks (m : nat) (w : seq (nat -> C)) (k : nat) : C :=
  nth (fun _ => 0) w (k %/ m)%N (k %% m)%N.
Lemma quarter_blocks m w q k : (k < m)%N -> quarter m q (blocks m w) k = nth (fun _ => 0) w q k.
Proof.
move=> lt; have m_gt0 : (0 < m)%N by case: m lt.
by rewrite /quarter /blocks divnMDl // divn_small // addn0 modnMDl modn_small.
Qed.

(* Four numbers for each entry. *)
Definition entries (m : nat) (f : nat -> nat -> C) (i : nat) : C := f (i %% m)%N (i %/ m)%N.
Lemma entry_entries m f j i : (j < m)%N -> entry m j (entries m f) i = f j i.
Proof.
move=> lt; have m_gt0 : (0 < m)%N by case: m lt.
by rewrite /entry /entries divnMDl // divn_small // addn0 modnMDl modn_small.
Qed.

Lemma split_total e x : exists y, split_by_four sum by_root e x y.
Proof.
pose wb := x 1%N * root e; pose wc := x 2%N * root (2 * e); pose wd := x 3%N * root (3 * e).
exists (nth 0 [:: x 0%N + wc + (wb + wd); x 0%N + wc - (wb + wd);
               x 0%N - wc + 'i * (wb - wd); x 0%N - wc - 'i * (wb - wd)]).
exists wb, wc, wd, (x 0%N + wc), (x 0%N - wc), (wb + wd), (wb - wd).
by split; [split; exact: root_exact|split; split; exact: sum_exact].
Qed.

Lemma join_total e x : exists y, join_by_four sum over_root e x y.
Proof.
pose even := x 0%N + x 1%N; pose odd := x 0%N - x 1%N; pose other_even := x 2%N + x 3%N.
pose i_other_odd := x 2%N - x 3%N.
exists (nth 0 [:: even + other_even; (odd - 'i * i_other_odd) * over e;
               (even - other_even) * over (2 * e); (odd + 'i * i_other_odd) * over (3 * e)]).
exists even, odd, other_even, i_other_odd.
exists (odd - 'i * i_other_odd), (even - other_even), (odd + 'i * i_other_odd).
by split; [split; exact: sum_exact|split; split; (exact: sum_exact || exact: over_exact)].
Qed.

Lemma forward_total l : forall s turned x, exists y, forward sum by_root l s turned x y.
Proof.
elim: l => [|l IH] s turned x.
  pose t := x 1%N * root (last_root s turned); pose t' := if turned then 'i * t else t.
  exists (nth 0 [:: x 0%N + t'; x 0%N - t']), t.
  by split; [exact: root_exact|split; exact: sum_exact].
set m := size_of l; have m_gt0 : (0 < m)%N := size_gt0 l.
have [f f_ok] := fin_all_exists (fun j : 'I_m => split_total (s %/ 4)%N (entry m j x)).
pose z := entries m (fun j i => if insub j is Some j' then f j' i else 0).
have [w w_ok] := fin_all_exists (fun q : 'I_4 => IH (child s q) (odd q) (quarter m q z)).
exists (blocks m [seq w q | q <- enum 'I_4]), z; split=> [j lt|q q_lt].
  have := f_ok (Ordinal lt); rewrite /split_by_four /=.
  by rewrite !(entry_entries _ _ lt) insubT.
apply: forward_same (w_ok (Ordinal q_lt)) => k lt.
rewrite quarter_blocks // (nth_map (Ordinal q_lt)) ?size_enum_ord //.
by congr (w _ k); apply: val_inj; rewrite /= nth_enum_ord.
Qed.

Lemma inverse_total l : forall s turned x, exists y,
  inverse sum over_root i_over_root l s turned x y.
Proof.
elim: l => [|l IH] s turned x.
  pose b := if turned then x 1%N - x 0%N else x 0%N - x 1%N.
  pose c := b * (if turned then i_over else over) (last_root s turned).
  have c_ok : (if turned then i_over_root else over_root) (last_root s turned) b c.
    by rewrite /c; case: (turned); [exact: i_over_exact|exact: over_exact].
  exists (nth 0 [:: x 0%N + x 1%N; c]); split; first exact: sum_exact.
  by exists b; split; [exact: sum_exact|exact: c_ok].
set m := size_of l; have m_gt0 : (0 < m)%N := size_gt0 l.
have [w w_ok] := fin_all_exists (fun q : 'I_4 => IH (child s q) (odd q) (quarter m q x)).
pose z := blocks m [seq w q | q <- enum 'I_4].
have [f f_ok] := fin_all_exists (fun j : 'I_m => join_total (s %/ 4)%N (entry m j z)).
exists (entries m (fun j i => if insub j is Some j' then f j' i else 0)), z.
split=> [q q_lt|j lt].
  apply: inverse_same (w_ok (Ordinal q_lt)) => k lt.
  rewrite quarter_blocks // (nth_map (Ordinal q_lt)) ?size_enum_ord //.
  by congr (w _ k); apply: val_inj; rewrite /= nth_enum_ord.
have := f_ok (Ordinal lt); rewrite /join_by_four /=.
by rewrite !(entry_entries _ _ lt) insubT.
Qed.
End Transform.

(* -------------------------------------------------------------------------------- products *)
Section Products.
Variables (C : numClosedFieldType) (round : C -> C -> Prop) (table : nat -> C).
Hypothesis round_exact : forall x, round x x.
Implicit Types (a w x y z : C).

Lemma parts_exact x : parts_rounded round x x.
Proof. by split; exact: round_exact. Qed.
Lemma two_exact x y : sum_of_two round x y (x + y).
Proof. by exists x, y; split; exact: round_exact. Qed.
Lemma times_exact a w : times round a w (a * w).
Proof.
split; first by rewrite ReM; exact: two_exact.
by rewrite ImM ['Im a * _]mulrC; exact: two_exact.
Qed.

Lemma sum_of_products_exact (terms : seq C) : sum_of_products round terms (\sum_(x <- terms) x).
Proof.
have accumulated rest : forall s, accumulate round s rest (s + \sum_(x <- rest) x).
  elim: rest => [|x rest IH] s; first by rewrite big_nil addr0.
  exists x, (s + x); split; [exact: round_exact|exact: round_exact|].
  by rewrite big_cons addrA; exact: IH.
case: terms => [|x rest]; first by rewrite big_nil.
by exists x; [exact: round_exact|rewrite big_cons; exact: accumulated].
Qed.

Lemma dot_exact d (F : 'I_d -> C) : sum_of_products round [seq F l | l <- enum 'I_d] (\sum_l F l).
Proof. by have := sum_of_products_exact [seq F l | l <- enum 'I_d]; rewrite big_map sum_enum. Qed.

Lemma dot_pairs_exact d (F G : 'I_d -> C) :
  sum_of_products round (flatten [seq [:: F l; G l] | l <- enum 'I_d]) (\sum_l (F l + G l)).
Proof.
have -> : \sum_l (F l + G l) = \sum_(x <- flatten [seq [:: F l; G l] | l <- enum 'I_d]) x.
  rewrite big_flatten big_map -sum_enum; apply: eq_bigr => l _.
  by rewrite !big_cons big_nil /= addr0.
exact: sum_of_products_exact.
Qed.

Section Point.
Variables (d : nat) (x s : 'I_d -> C).
Lemma re_sum : 'Re (\sum_l x l * s l) = \sum_l ('Re (x l) * 'Re (s l) - 'Im (x l) * 'Im (s l)).
Proof. by rewrite raddf_sum; apply: eq_bigr => l _; rewrite /= ReM. Qed.
Lemma im_sum : 'Im (\sum_l x l * s l) = \sum_l ('Re (x l) * 'Im (s l) + 'Im (x l) * 'Re (s l)).
Proof. by rewrite raddf_sum; apply: eq_bigr => l _; rewrite /= ImM ['Im (x l) * _]mulrC. Qed.

Lemma four_sums_exact : point_by_four_sums round x s (\sum_l x l * s l).
Proof.
exists (\sum_l 'Re (x l) * 'Re (s l)), (\sum_l 'Im (x l) * 'Im (s l)).
exists (\sum_l 'Re (x l) * 'Im (s l)), (\sum_l 'Im (x l) * 'Re (s l)).
split; first by split; exact: dot_exact.
by rewrite re_sum im_sum sumrB big_split /=; split; exact: round_exact.
Qed.

Lemma two_sums_exact : point_by_two_sums round x s (\sum_l x l * s l).
Proof.
split; first by rewrite re_sum; exact: dot_pairs_exact.
rewrite im_sum (eq_bigr (fun l => 'Im (x l) * 'Re (s l) + 'Re (x l) * 'Im (s l))).
  exact: dot_pairs_exact.
by move=> l _; rewrite addrC.
Qed.
End Point.

Theorem float_product_total d (point : ('I_d -> C) -> ('I_d -> C) -> C -> Prop)
    (A S : 'I_d -> 'rV[C]_256) : (forall x s : 'I_d -> C, point x s (\sum_l x l * s l)) ->
  exists y : nat -> C, float_product round table point A S y.
Proof.
move=> point_exact.
have forward_run (x : nat -> C) : exists y : nat -> C, float_forward round table x y.
  exact: (@forward_total _ _ (fun e b => times round b (table e)) table parts_exact
    (fun e b => times_exact b (table e))).
have [A' A_ok] := fin_all_exists (fun l => forward_run (complex_form (A l))).
have [S' S_ok] := fin_all_exists
  (fun l => forward_run (fun j => complex_form (S l) j / 128%:R)).
have [y y_ok] : exists y : nat -> C, float_inverse round table (fun k => \sum_l A' l k * S' l k) y.
  exact: (@inverse_total _ _ (fun e b => times round b (table e)^* )
    (fun e b => times round b ('i * (table e)^* )) (fun e => (table e)^* )
    (fun e => 'i * (table e)^* ) parts_exact (fun e b => times_exact b (table e)^* )
    (fun e b => times_exact b ('i * (table e)^* ))).
by exists y, A', S', (fun k => \sum_l A' l k * S' l k); split.
Qed.
End Products.
