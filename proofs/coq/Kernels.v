(* Arithmetic of the kernels, on the integers of the Coq distribution: reduction by folding, sums
   of products in machine words, the length of one 32-bit pass. Chapters: ring, linear, integrity.

   Z.land is the bitwise AND, Z.shiftr x e is x >> e, mod is the remainder in 0..p-1. *)
From Coq Require Import ZArith List Lia Zify.
Import ListNotations.
Local Open Scope Z_scope.

Definition p31 : Z := 2 ^ 31 - 1.

(* fold(x) = (x AND 2^e - 1) + (x >> e). *)
Definition fold (e x : Z) : Z := Z.land x (2 ^ e - 1) + Z.shiftr x e.

(* One conditional subtraction. *)
Definition subtract_once (p z : Z) : Z := if z <? p then z else z - p.

(* Two folds and a conditional subtraction. *)
Definition reduce31 (x : Z) : Z := subtract_once p31 (fold 31 (fold 31 x)).

Lemma fold_spec e x : 0 <= e -> fold e x = x mod 2 ^ e + x / 2 ^ e.
Proof.
intros He. unfold fold. rewrite Z.shiftr_div_pow2 by exact He.
rewrite Z.sub_1_r, <- Z.ones_equiv, Z.land_ones by exact He. reflexivity.
Qed.

Lemma fold_congruent e x : 0 < e -> fold e x mod (2 ^ e - 1) = x mod (2 ^ e - 1).
Proof.
intros He. rewrite fold_spec by lia.
rewrite (Z.div_mod x (2 ^ e)) at 3 by (apply Z.pow_nonzero; lia).
replace (2 ^ e * (x / 2 ^ e) + x mod 2 ^ e)
  with (x mod 2 ^ e + x / 2 ^ e + (x / 2 ^ e) * (2 ^ e - 1)) by ring.
rewrite Z_mod_plus_full. reflexivity.
Qed.

Lemma subtract_once_mod p z : 0 < p -> 0 <= z < 2 * p -> subtract_once p z = z mod p.
Proof.
intros Hp Hz. unfold subtract_once. destruct (Z.ltb_spec z p).
- symmetry. apply Z.mod_small. lia.
- apply Z.mod_unique with (q := 1); lia.
Qed.

Lemma fold31_bounds x : 0 <= x -> 0 <= fold 31 x <= x / 2 ^ 31 + (2 ^ 31 - 1).
Proof.
intros Hx. rewrite fold_spec by lia.
pose proof (Z.mod_pos_bound x (2 ^ 31)). pose proof (Z.div_pos x (2 ^ 31)). lia.
Qed.

Lemma reduce31_mod x : 0 <= x < 2 ^ 64 -> reduce31 x = x mod p31.
Proof.
intros Hx. unfold reduce31.
assert (Hy : 0 <= fold 31 x <= 2 ^ 33 + 2 ^ 31 - 2).
{ pose proof (fold31_bounds x). assert (x / 2 ^ 31 < 2 ^ 33) by (apply Z.div_lt_upper_bound; lia).
  lia. }
assert (Hz : 0 <= fold 31 (fold 31 x) <= p31 + 4).
{ pose proof (fold31_bounds (fold 31 x)). unfold p31.
  assert (fold 31 x / 2 ^ 31 <= 4) by (apply Z.lt_succ_r, Z.div_lt_upper_bound; lia). lia. }
rewrite subtract_once_mod by (unfold p31 in *; lia).
unfold p31. rewrite !fold_congruent by lia. reflexivity.
Qed.

(* RING-1 on canonical residues. *)
Definition add_mod (L a b : Z) : Z := if a + b <? L then a + b else a + b - L.
Definition sub_mod (L a b : Z) : Z := if b <=? a then a - b else a - b + L.

Lemma add_mod_spec L a b : 0 <= a < L -> 0 <= b < L -> add_mod L a b = (a + b) mod L.
Proof.
intros Ha Hb. unfold add_mod. destruct (Z.ltb_spec (a + b) L).
- symmetry. apply Z.mod_small. lia.
- apply Z.mod_unique with (q := 1); lia.
Qed.

Lemma sub_mod_spec L a b : 0 <= a < L -> 0 <= b < L -> sub_mod L a b = (a - b) mod L.
Proof.
intros Ha Hb. unfold sub_mod. destruct (Z.leb_spec b a).
- symmetry. apply Z.mod_small. lia.
- apply Z.mod_unique with (q := -1); lia.
Qed.

(* ------------------------------------------------------------------ inner products mod 2^31-1 *)
Definition sum_products (pairs : list (Z * Z)) : Z :=
  fold_right (fun p acc => fst p * snd p + acc) 0 pairs.

(* The loop: add the products of one chunk to the accumulator, then fold. *)
Definition dot_loop (chunks : list (list (Z * Z))) : Z :=
  fold_left (fun acc chunk => fold 31 (acc + sum_products chunk)) chunks 0.

Definition residue_pair (p : Z * Z) : Prop := 0 <= fst p < p31 /\ 0 <= snd p < p31.

Lemma sum_products_bound chunk : Forall residue_pair chunk ->
  0 <= sum_products chunk <= Z.of_nat (length chunk) * (p31 - 1) ^ 2.
Proof.
induction 1 as [|p chunk [Ha Hb] _ IH]; cbn [sum_products fold_right length]; [lia|].
fold (sum_products chunk). rewrite Nat2Z.inj_succ. unfold p31 in *. nia.
Qed.

Definition good_chunk (chunk : list (Z * Z)) : Prop :=
  (length chunk <= 4)%nat /\ Forall residue_pair chunk.

(* With the accumulator below 2^34, four products fit 64 bits, and the fold is below 2^34 again. *)
Lemma dot_step acc chunk : 0 <= acc < 2 ^ 34 -> good_chunk chunk ->
  acc + sum_products chunk < 2 ^ 64 /\ 0 <= fold 31 (acc + sum_products chunk) < 2 ^ 34.
Proof.
intros Hacc [Hlen Hpairs]. pose proof (sum_products_bound chunk Hpairs) as Hsum.
assert (Hle : sum_products chunk <= 4 * (p31 - 1) ^ 2).
{ etransitivity; [apply Hsum|]. apply Z.mul_le_mono_nonneg_r; unfold p31; lia. }
unfold p31 in Hle. split; [lia|].
pose proof (fold31_bounds (acc + sum_products chunk)).
assert ((acc + sum_products chunk) / 2 ^ 31 < 2 ^ 33) by (apply Z.div_lt_upper_bound; lia).
lia.
Qed.

Lemma dot_loop_from chunks acc : 0 <= acc < 2 ^ 34 -> Forall good_chunk chunks ->
  let final := fold_left (fun a chunk => fold 31 (a + sum_products chunk)) chunks acc in
  0 <= final < 2 ^ 34 /\ final mod p31 = (acc + sum_products (concat chunks)) mod p31.
Proof.
intros Hacc Hchunks. revert acc Hacc.
induction Hchunks as [|chunk chunks Hchunk _ IH]; intros acc Hacc; cbn [fold_left concat].
- cbn. split; [lia|]. f_equal. lia.
- destruct (dot_step acc chunk Hacc Hchunk) as [_ Hfold].
  destruct (IH _ Hfold) as [Hfinal Hmod]. split; [exact Hfinal|].
  rewrite Hmod. rewrite <- Zplus_mod_idemp_l. unfold p31 at 1. rewrite fold_congruent by lia.
  fold p31. rewrite Zplus_mod_idemp_l. f_equal.
  assert (Happ : forall l1 l2, sum_products (l1 ++ l2) = sum_products l1 + sum_products l2).
  { induction l1 as [|p l1 IHl]; intros l2; cbn; [reflexivity|].
    fold (sum_products (l1 ++ l2)) (sum_products l1). rewrite IHl. lia. }
  rewrite Happ. lia.
Qed.

Lemma dot_loop_mod chunks : Forall good_chunk chunks ->
  reduce31 (dot_loop chunks) = sum_products (concat chunks) mod p31.
Proof.
intros Hchunks. destruct (dot_loop_from chunks 0 ltac:(lia) Hchunks) as [Hfinal Hmod].
fold (dot_loop chunks) in *. rewrite reduce31_mod by lia. exact Hmod.
Qed.

(* ------------------------------------------------------------------- one pass in 32-bit words *)
Fixpoint dot (w u : list Z) : Z :=
  match w, u with
  | a :: w', c :: u' => a * c + dot w' u'
  | _, _ => 0
  end.

Definition between (lo hi a : Z) : Prop := lo <= a <= hi.

(* Every inner product of n weights in lo..hi with n limbs in 0..top fits a signed 32-bit word. *)
Definition fits_int32 (lo hi top : Z) (n : nat) : Prop :=
  forall w u, length w = n -> length u = n ->
  Forall (between lo hi) w -> Forall (between 0 top) u -> -2 ^ 31 <= dot w u <= 2 ^ 31 - 1.

Lemma dot_bounds B top w u : 0 <= B -> 0 <= top -> length u = length w ->
  Forall (between (- B) B) w -> Forall (between 0 top) u ->
  - (B * top * Z.of_nat (length w)) <= dot w u <= B * top * Z.of_nat (length w).
Proof.
intros HB Htop Hlen Hw. revert u Hlen.
induction Hw as [|a w Ha _ IH]; intros [|c u] Hlen Hu; try discriminate.
{ cbn [dot length Z.of_nat]. rewrite Z.mul_0_r. lia. }
inversion_clear Hu as [|? ? Hc Hu']. injection Hlen as Hlen.
specialize (IH u Hlen Hu'). cbn [dot length]. rewrite Nat2Z.inj_succ.
unfold between in *. nia.
Qed.

Lemma dot_repeat a c n : dot (repeat a n) (repeat c n) = a * c * Z.of_nat n.
Proof. induction n as [|n IH]; cbn [repeat dot]; [|rewrite IH, Nat2Z.inj_succ]; ring. Qed.

Lemma Forall_repeat (P : Z -> Prop) a n : P a -> Forall P (repeat a n).
Proof. intros Ha. apply Forall_forall. intros x Hx. apply repeat_spec in Hx. congruence. Qed.

(* Weights in -128..127 (int8), limbs of 8 bits: n <= 65793, and no longer. *)
Lemma int32_bytes n : fits_int32 (-128) 127 255 n <-> Z.of_nat n <= 65793.
Proof.
split.
- intros H. specialize (H (repeat (-128) n) (repeat 255 n)).
  rewrite !repeat_length, dot_repeat in H.
  specialize (H eq_refl eq_refl). do 2 (rewrite ?Forall_forall in H).
  enough (-2 ^ 31 <= -128 * 255 * Z.of_nat n <= 2 ^ 31 - 1) by lia.
  apply H; intros x Hx; apply repeat_spec in Hx; subst x; unfold between; lia.
- intros Hn w u Hw Hu Fw Fu.
  assert (Fw' : Forall (between (- 128) 128) w).
  { eapply Forall_impl; [|exact Fw]. unfold between. intros; lia. }
  pose proof (dot_bounds 128 255 w u ltac:(lia) ltac:(lia) ltac:(congruence) Fw' Fu) as H.
  rewrite Hw in H. lia.
Qed.

(* The bound as an inequality of numbers. *)
Lemma bytes_bound n : 255 * 128 * n <= 2 ^ 31 <-> n <= 65793.
Proof. lia. Qed.

(* Weights in -127..127, as PARAM-2 has them, would allow n <= 66311. *)
Lemma int32_bytes_127 n : fits_int32 (-127) 127 255 n <-> Z.of_nat n <= 66311.
Proof.
split.
- intros H. specialize (H (repeat 127 n) (repeat 255 n)).
  rewrite !repeat_length, dot_repeat in H.
  specialize (H eq_refl eq_refl). do 2 (rewrite ?Forall_forall in H).
  enough (-2 ^ 31 <= 127 * 255 * Z.of_nat n <= 2 ^ 31 - 1) by lia.
  apply H; intros x Hx; apply repeat_spec in Hx; subst x; unfold between; lia.
- intros Hn w u Hw Hu Fw Fu.
  pose proof (dot_bounds 127 255 w u ltac:(lia) ltac:(lia) ltac:(congruence) Fw Fu) as H.
  rewrite Hw in H. lia.
Qed.

(* Limbs of 11 bits: n <= 8196. *)
Lemma int32_11bits n : fits_int32 (-128) 127 2047 n <-> Z.of_nat n <= 8196.
Proof.
split.
- intros H. specialize (H (repeat (-128) n) (repeat 2047 n)).
  rewrite !repeat_length, dot_repeat in H.
  specialize (H eq_refl eq_refl). do 2 (rewrite ?Forall_forall in H).
  enough (-2 ^ 31 <= -128 * 2047 * Z.of_nat n <= 2 ^ 31 - 1) by lia.
  apply H; intros x Hx; apply repeat_spec in Hx; subst x; unfold between; lia.
- intros Hn w u Hw Hu Fw Fu.
  assert (Fw' : Forall (between (- 128) 128) w).
  { eapply Forall_impl; [|exact Fw]. unfold between. intros; lia. }
  pose proof (dot_bounds 128 2047 w u ltac:(lia) ltac:(lia) ltac:(congruence) Fw' Fu) as H.
  rewrite Hw in H. lia.
Qed.

(* Four passes recombine within a signed 64-bit word. *)
Lemma recombine_fits y0 y1 y2 y3 :
  between (-2 ^ 31) (2 ^ 31 - 1) y0 -> between (-2 ^ 31) (2 ^ 31 - 1) y1 ->
  between (-2 ^ 31) (2 ^ 31 - 1) y2 -> between (-2 ^ 31) (2 ^ 31 - 1) y3 ->
  between (-2 ^ 56) (2 ^ 56) (y0 + 2 ^ 8 * y1 + 2 ^ 16 * y2 + 2 ^ 24 * y3).
Proof. unfold between. lia. Qed.
