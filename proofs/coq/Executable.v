(* What the definitions compute, on the integers of the Coq distribution and lists of them: matrices
   and Z_L of the library do not reduce. Each function below is proved to be its definition, entry by
   entry. proofs/oracle runs them, extracted and inside Coq, and compares them with the reference.

   A matrix is a list of its rows' entries; a vector is a list; residues are numbers in 0..L-1. *)
From Coq Require Import ZArith List.
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Ring Masking Linear Planes Integrity Randomness.
From SLIP Require Import Kernels.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.

(* ------------------------------------------------------------------------------- functions *)
Local Open Scope Z_scope.
Delimit Scope ring_scope with R.

Definition lift_Z (L r : Z) : Z := if r <=? (L - 1) / 2 then r else r - L.
Definition mask_Z (L q r : Z) : Z := (q + r) mod L.
Definition unmask_Z (L y c : Z) : Z := lift_Z L ((y - c) mod L).
Definition product_Z (L : Z) (row x : list Z) : Z := dot row x mod L.
Definition low_bits_Z (e word : Z) : Z := word mod 2 ^ e.
Definition sampler_Z (e L : Z) (words : list Z) : list Z :=
  List.filter (fun v => v <? L) (List.map (low_bits_Z e) words).
Definition plane_Z (q r : Z) : Z := r mod q.

(* sum over the primes q, each with the inverse of L / q, of (byte inverse mod q) (L / q), mod L. *)
Definition from_planes_Z (L : Z) (primes : list (Z * Z)) (byte : Z -> Z) : Z :=
  List.fold_right (fun q total => (byte (fst q) * snd q) mod fst q * (L / fst q) + total) 0 primes
    mod L.

(* The product by planes: bytes in, bytes out, put together at the end. *)
Definition plane_product_Z (L : Z) (primes : list (Z * Z)) (row x : list Z) : Z :=
  from_planes_Z L primes (fun q => dot row (List.map (plane_Z q) x) mod q).

(* 2^t u + sum_c a[c] z[c]. *)
Definition charlie_Z (t u : Z) (a z : list Z) : Z := 2 ^ t * u + dot a z.

(* One repetition and one column: rho . y = s . x. *)
Definition accepts_Z (L : Z) (rho s x y : list Z) : bool := dot rho y mod L =? dot s x mod L.

(* ----------------------------------------------------------------------- they are the definitions *)
Local Close Scope Z_scope.
Local Open Scope ring_scope.

Definition residue_Z (L : nat) (r : 'Z_L) : Z := Z.of_nat r.
Definition row_list (m n : nat) (A : 'M[int]_(m, n)) (i : 'I_m) : list Z :=
  List.map (fun j => Z_of_int (A i j)) (enum 'I_n).
Definition column_list (n b : nat) (A : 'M[int]_(n, b)) (c : 'I_b) : list Z :=
  List.map (fun j => Z_of_int (A j c)) (enum 'I_n).
Definition residues_list (L n b : nat) (x : 'M['Z_L]_(n, b)) (c : 'I_b) : list Z :=
  List.map (fun j => residue_Z (x j c)) (enum 'I_n).

Lemma Z_of_int_sum (I : Type) (s : seq I) (f : I -> int) :
  Z_of_int (\sum_(i <- s) f i) = List.fold_right (fun i total => Z.add (Z_of_int (f i)) total) Z0 s.
Proof. by elim: s => [|i s IH]; rewrite ?big_nil ?big_cons //= addz_Z IH. Qed.

Lemma dot_list (I : Type) (s : seq I) (f g : I -> int) :
  dot (List.map (fun i => Z_of_int (f i)) s) (List.map (fun i => Z_of_int (g i)) s)
    = Z_of_int (\sum_(i <- s) f i * g i).
Proof. by elim: s => [|i s IH]; rewrite ?big_nil ?big_cons //= addz_Z mulz_Z IH. Qed.

Lemma modz_Z (v : int) (L : nat) : (0 < L)%N ->
  Z_of_int (v %% L)%Z = Z.modulo (Z_of_int v) (Z.of_nat L).
Proof.
move=> L_gt0; have L_gt0' : 0 < L%:Z by rewrite ltz_nat.
have e := f_equal Z_of_int (divz_eq v L).
have low := modz_ge0 v (lt0r_neq0 L_gt0'); have high := ltz_pmod v L_gt0'.
apply: (Z.mod_unique _ _ (Z_of_int (v %/ L)%Z)).
  by left; move: low high; rewrite lez_Z ltz_Z => /Z.leb_le ? /Z.ltb_lt ?; split.
by rewrite {1}e addz_Z mulz_Z /= Z.mul_comm.
Qed.

Lemma Z_of_int_nat (n : nat) : Z_of_int n%:Z = Z.of_nat n.
Proof. reflexivity. Qed.

Lemma power_Z k : Z.of_nat (2 ^ k)%N = Z.pow 2 (Z.of_nat k).
Proof.
elim: k => [|k IH]; first by [].
have -> : Z.of_nat k.+1 = Z.succ (Z.of_nat k) by lia.
by rewrite Z.pow_succ_r ?expnS ?muln_Z ?IH //; lia.
Qed.

Lemma power_int t : Z_of_int (2%:Z ^+ t)%R = Z.pow 2 (Z.of_nat t).
Proof.
elim: t => [|t IH]; first by [].
have -> : Z.of_nat t.+1 = Z.succ (Z.of_nat t) by lia.
by rewrite Z.pow_succ_r ?exprS ?mulz_Z ?IH //; lia.
Qed.

Lemma half_pred k : (0 < k)%N -> Z.of_nat (k.-1)./2 = Z.div (Z.sub (Z.of_nat k) 1) 2.
Proof.
case: k => // k _; rewrite -divn2 quotient_Z // -pred_Sn; congr Z.div; lia.
Qed.

Section Bridge.
Variable L : nat.
Hypothesis L_gt1 : (1 < L)%N.

Lemma embed_Z v : residue_Z (embed L v) = Z.modulo (Z_of_int v) (Z.of_nat L).
Proof. rewrite -(modz_Z v (ltnW L_gt1)) -(embed_mod L_gt1 v) Z_of_int_nat. reflexivity. Qed.

Lemma lift_residue (r : 'Z_L) : Z_of_int (lift r) = lift_Z (Z.of_nat L) (residue_Z r).
Proof.
rewrite /lift /lift_Z /residue_Z.
rewrite leq_Z (half_pred (ltnW L_gt1)); case: Z.leb; rewrite ?subz_Z ?Z_of_int_nat; reflexivity.
Qed.

Lemma mask_entry n b (q : 'M[int]_(n, b)) (r : 'M['Z_L]_(n, b)) j c :
  residue_Z (mask q r j c) = mask_Z (Z.of_nat L) (Z_of_int (q j c)) (residue_Z (r j c)).
Proof.
rewrite /mask /mask_Z !mxE -{1}[r j c](embed_residue _) -embedD embed_Z addz_Z Z_of_int_nat.
reflexivity.
Qed.

Lemma row_product m n b (W : 'M[int]_(m, n)) (x : 'M['Z_L]_(n, b)) i c :
  residue_Z (product W x i c) = product_Z (Z.of_nat L) (row_list W i) (residues_list x c).
Proof.
rewrite /product /product_Z mxE.
have -> : \sum_j embed_mx L W i j * x j c = embed L (\sum_j W i j * (x j c : nat)%:Z).
  rewrite /embed rmorph_sum; apply: eq_bigr => j _ /=.
  rewrite rmorphM mxE; congr (_ * _); exact: esym (embed_residue _).
rewrite embed_Z /row_list /residues_list -big_enum -dot_list. reflexivity.
Qed.

Lemma unmask_entry m b (y c : 'M['Z_L]_(m, b)) i j :
  Z_of_int (unmask y c i j) = unmask_Z (Z.of_nat L) (residue_Z (y i j)) (residue_Z (c i j)).
Proof.
rewrite /unmask /unmask_Z !mxE lift_residue; congr (lift_Z _ _).
rewrite -{1}[y i j](embed_residue _) -{1}[c i j](embed_residue _) -embedB embed_Z subz_Z.
reflexivity.
Qed.

Lemma charlie_entry t m n k b (A : 'M[int]_(m, k)) (B : 'M[int]_(k, n)) (u : 'M[int]_(m, b))
    (q : 'M[int]_(n, b)) i c :
  Z_of_int (charlie_sum t A B u q i c)
    = charlie_Z (Z.of_nat t) (Z_of_int (u i c)) (row_list A i)
        (List.map (fun l => dot (row_list B l) (column_list q c)) (enum 'I_k)).
Proof.
rewrite /charlie_sum /charlie_Z !mxE addz_Z mulz_Z; rewrite power_int; congr (Z.add _ _).
have -> : List.map (fun l => dot (row_list B l) (column_list q c)) (enum 'I_k)
          = List.map (fun l => Z_of_int ((B *m q) l c)) (enum 'I_k).
  apply: List.map_ext => l.
  by rewrite /row_list /column_list dot_list mxE big_enum.
by rewrite /row_list dot_list big_enum.
Qed.

Lemma sampler_list e (words : seq nat) :
  List.map Z.of_nat (sampler e L words)
    = sampler_Z (Z.of_nat e) (Z.of_nat L) (List.map Z.of_nat words).
Proof.
elim: words => [|word words IH] //=; rewrite sampler_cons /sampler_Z /= -/(sampler_Z _ _ _) -IH.
have -> : low_bits_Z (Z.of_nat e) (Z.of_nat word) = Z.of_nat (low_bits e word).
  by rewrite /low_bits remainder_Z ?expn_gt0 // power_Z.
have -> : Z.ltb (Z.of_nat (low_bits e word)) (Z.of_nat L) = (low_bits e word < L)%N.
  by apply/idP/idP => [/Z.ltb_lt|]; [|move=> h; apply/Z.ltb_lt]; lia.
by case: (low_bits e word < L)%N.
Qed.

Lemma residue_sum n (f g : 'I_n -> 'Z_L) :
  residue_Z (\sum_j f j * g j)
    = Z.modulo (dot (List.map (fun j => residue_Z (f j)) (enum 'I_n))
                    (List.map (fun j => residue_Z (g j)) (enum 'I_n))) (Z.of_nat L).
Proof.
have -> : \sum_j f j * g j = embed L (\sum_j (f j : nat)%:Z * (g j : nat)%:Z).
  rewrite /embed rmorph_sum; apply: eq_bigr => j _ /=.
  by rewrite rmorphM; congr (_ * _); exact: esym (embed_residue _).
rewrite embed_Z -big_enum -dot_list. reflexivity.
Qed.

Lemma companion_entry m n kappa (rho : 'M['Z_L]_(m, kappa)) (W : 'M[int]_(m, n)) k j :
  residue_Z (companion rho (embed_mx L W) k j)
    = product_Z (Z.of_nat L) (residues_list rho k) (column_list W j).
Proof.
rewrite /companion mxE.
have -> : \sum_i rho^T k i * embed_mx L W i j = embed L (\sum_i (rho i k : nat)%:Z * W i j).
  rewrite /embed rmorph_sum; apply: eq_bigr => i _ /=.
  by rewrite rmorphM !mxE; congr (_ * _); exact: esym (embed_residue _).
rewrite embed_Z -big_enum -dot_list. reflexivity.
Qed.

Lemma accepts_entries m n b kappa (rho : 'M['Z_L]_(m, kappa)) (s : 'M['Z_L]_(kappa, n))
    (x : 'M['Z_L]_(n, b)) (y : 'M['Z_L]_(m, b)) :
  accepts rho s x y
    = [forall k, forall c, accepts_Z (Z.of_nat L) (residues_list rho k)
         (List.map (fun j => residue_Z (s k j)) (enum 'I_n)) (residues_list x c)
         (residues_list y c)].
Proof.
have entry k c : ((rho^T *m y) k c = (s *m x) k c) <->
    accepts_Z (Z.of_nat L) (residues_list rho k)
      (List.map (fun j => residue_Z (s k j)) (enum 'I_n)) (residues_list x c) (residues_list y c).
  rewrite /accepts_Z /residues_list -(residue_sum (fun j => rho j k)) -(residue_sum (s k)) !mxE.
  under eq_bigr do rewrite mxE.
  by split=> [->|/Z.eqb_eq/Nat2Z.inj/val_inj//]; exact: Z.eqb_refl.
rewrite /Integrity.accepts; apply/eqP/forallP => [/matrixP e k|h].
  by apply/forallP => c; apply/entry.
by apply/matrixP => k c; apply/entry; have /forallP := h k; apply.
Qed.

End Bridge.

Lemma dot_plane (q : Z) (row x : list Z) : q <> Z0 ->
  Z.modulo (dot row (List.map (plane_Z q) x)) q = Z.modulo (dot row x) q.
Proof.
move=> q_neq0; elim: row x => [|a row IH] [|c x] //=.
rewrite (Z.add_mod (Z.mul a _)) // IH /plane_Z Z.mul_mod_idemp_r //.
by rewrite -Z.add_mod.
Qed.

Section PlanesBridge.
Variables (h : nat) (p inv : 'I_h -> nat).
Notation L := (modulus p).
Hypothesis L_primes : different_primes p.
Hypothesis inv_ok : forall i, (inv i * (L %/ p i) = 1 %[mod p i])%N.

Lemma plane_entry i (r : 'Z_L) : residue_Z (plane (p i) r) = plane_Z (Z.of_nat (p i)) (residue_Z r).
Proof.
by case: L_primes => _ p_prime _; rewrite /plane embed_Z ?pdiv_gt1 // pdiv_id // Z_of_int_nat.
Qed.

Lemma from_planes_sum (r : nat) (byte : Z -> Z) (s : seq 'I_h) :
  (forall i, byte (Z.of_nat (p i)) = Z.of_nat (r %% p i)) ->
  List.fold_right (fun q total => Z.add (Z.mul (Z.modulo (Z.mul (byte (fst q)) (snd q)) (fst q))
                                              (Z.div (Z.of_nat L) (fst q))) total) Z0
      (List.map (fun i => (Z.of_nat (p i), Z.of_nat (inv i))) s)
    = Z.of_nat (\sum_(i <- s) (r %% p i * inv i %% p i) * (L %/ p i))%N.
Proof.
case: L_primes => _ p_prime _ bytes; elim: s => [|i s IH]; first by rewrite big_nil.
rewrite big_cons addn_Z -IH /= bytes muln_Z [Z.of_nat (_ * _ %% _)]remainder_Z ?prime_gt0 // muln_Z.
by rewrite [Z.of_nat (L %/ p i)]quotient_Z ?prime_gt0.
Qed.

Lemma plane_product_entry m n b (W : 'M[int]_(m, n)) (x : 'M['Z_L]_(n, b)) i c :
  residue_Z (product W x i c)
    = plane_product_Z (Z.of_nat L)
        (List.map (fun k => (Z.of_nat (p k), Z.of_nat (inv k))) (enum 'I_h))
        (row_list W i) (residues_list x c).
Proof.
have L_gt1 := modulus_gt1 L_primes; have [_ p_prime p_inj] := L_primes.
set r := product W x i c.
pose byte q := Z.modulo (dot (row_list W i) (List.map (plane_Z q) (residues_list x c))) q.
have bytes k : byte (Z.of_nat (p k)) = Z.of_nat (r %% p k).
  have p_gt0 := prime_gt0 (p_prime k); rewrite /byte dot_plane; last by lia.
  rewrite remainder_Z // -[Z.of_nat r]/(residue_Z r) row_product // /product_Z.
  have [u eL] : exists u, L = (u * p k)%N by apply/dvdnP/p_dvd.
  by apply: Znumtheory.Zmod_div_mod; [lia|lia|exists (Z.of_nat u); rewrite {1}eL muln_Z].
rewrite /plane_product_Z /from_planes_Z; have -> := from_planes_sum (enum 'I_h) bytes.
rewrite -remainder_Z ?(ltnW L_gt1) // /residue_Z; congr Z.of_nat.
have := from_planes_residue p_prime p_inj inv_ok r; rewrite /from_planes big_enum => ->.
by rewrite modn_small // residue_lt.
Qed.
End PlanesBridge.

(* ------------------------------------------------------------------------------ the oracle *)
Local Close Scope ring_scope.
Local Open Scope Z_scope.

(* The first `count` rows of n entries each of a matrix that is written row by row. *)
Fixpoint rows (n count : nat) (entries : list Z) : list (list Z) :=
  match count with
  | O => nil
  | S count => cons (List.firstn n entries) (rows n count (List.skipn n entries))
  end.

Definition map2 (f : Z -> Z -> Z) (a b : list Z) : list Z :=
  List.map (fun pair => f (fst pair) (snd pair)) (List.combine a b).
Definition column (j : nat) (A : list (list Z)) : list Z := List.map (fun row => List.nth j row 0) A.

Definition products_Z (L : Z) (W : list (list Z)) (x : list Z) : list Z :=
  List.map (fun row => product_Z L row x) W.

(* rho: one list a repetition. *)
Definition verdict_Z (L : Z) (n : nat) (rho W : list (list Z)) (x y : list Z) : bool :=
  List.forallb (fun r => let s := List.map (fun j => product_Z L r (column j W)) (List.seq 0 n) in
                         accepts_Z L r s x y) rho.

Definition exchange_Z (L t : Z) (W A B : list (list Z)) (q r : list Z) : list Z :=
  let u := map2 (unmask_Z L) (products_Z L W (map2 (mask_Z L) q r)) (products_Z L W r) in
  let z := List.map (fun row => dot row q) B in
  List.map (fun pair => charlie_Z t (fst pair) (snd pair) z) (List.combine u A).

(* What a vector's function is of its arguments; the first argument holds the parameters. *)
Definition compute (function : Z) (arguments : list (list Z)) : list Z :=
  match function, arguments with
  | 0, [:: [:: L]; r] => List.map (lift_Z L) r
  | 1, [:: [:: L]; q; r] => map2 (mask_Z L) q r
  | 2, [:: [:: L]; y; c] => map2 (unmask_Z L) y c
  | 3, [:: [:: q]; x] => List.map (plane_Z q) x
  | 4, [:: [:: e; L]; words] => sampler_Z e L words
  | 5, [:: [:: L; m; n]; W; x] => products_Z L (rows (Z.to_nat n) (Z.to_nat m) W) x
  | 6, [:: [:: L; m; n]; primes; inverses; W; x] =>
      List.map (fun row => plane_product_Z L (List.combine primes inverses) row x)
        (rows (Z.to_nat n) (Z.to_nat m) W)
  | 7, [:: [:: L; m; n; kappa]; rho; W; x; y] =>
      [:: if verdict_Z L (Z.to_nat n) (rows (Z.to_nat m) (Z.to_nat kappa) rho)
               (rows (Z.to_nat n) (Z.to_nat m) W) x y then 1 else 0]
  | 8, [:: [:: L; t; m; n; k]; W; A; B; q; r] =>
      exchange_Z L t (rows (Z.to_nat n) (Z.to_nat m) W) (rows (Z.to_nat k) (Z.to_nat m) A)
        (rows (Z.to_nat n) (Z.to_nat k) B) q r
  | _, _ => nil
  end.

Fixpoint equal_lists (a b : list Z) : bool :=
  match a, b with
  | nil, nil => true
  | cons x a, cons y b => Z.eqb x y && equal_lists a b
  | _, _ => false
  end.

(* Whether a vector (function, arguments, result) is right. *)
Definition agrees (vector : Z * list (list Z) * list Z) : bool :=
  equal_lists (compute (fst (fst vector)) (snd (fst vector))) (snd vector).
